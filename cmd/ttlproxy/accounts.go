package main

import "fmt"

// accounts are the statements that make the engine's account.
func (o *options) accounts() []string {
	return []string{
		fmt.Sprintf("CREATE USER IF NOT EXISTS '%s'@'%%'", o.EngineUser),
		fmt.Sprintf("ALTER USER '%s'@'%%' IDENTIFIED BY '%s'", o.EngineUser, o.EnginePassword),
		fmt.Sprintf("GRANT ALL ON *.* TO '%s'@'%%'", o.EngineUser),
	}
}

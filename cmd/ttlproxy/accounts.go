package main

import (
	"fmt"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// account is the service account, for tables in some schemas or in all.
func (o *options) account(schemas []string) catalog.ServiceAccount {
	return catalog.ServiceAccount{User: o.EngineUser, Password: o.EnginePassword, Catalog: o.Schema, Schemas: schemas}
}

// accounts are the statements that create the service account, or give an existing one this
// password.
func (o *options) accounts(mariadb bool) []string {
	var out []string
	for _, g := range o.account(nil).Grants(mariadb) {
		out = append(out, g.SQL)
	}
	return append(out, fmt.Sprintf("ALTER USER '%s'@'%%' IDENTIFIED BY '%s'", o.EngineUser, o.EnginePassword))
}

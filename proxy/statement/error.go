package statement

import (
	"fmt"

	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// refusal is an error of package ddl as it goes to the client.
func refusal(e *ddl.Error) *wire.Error {
	return &wire.Error{Code: e.Code, State: e.State, Message: e.Message}
}

// refuse is an error with a sentence of ours.
func refuse(format string, args ...any) *wire.Error {
	return &wire.Error{Code: ddl.CodeUnknownError, State: "HY000", Message: fmt.Sprintf(format, args...)}
}

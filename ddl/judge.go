package ddl

import (
	"github.com/pingcap/tidb/pkg/parser"
	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/mysql"
	_ "github.com/pingcap/tidb/pkg/parser/test_driver" // the parser's literals
)

// judge asks TiDB's parser whether an option is well formed. It sees the option on a table of its
// own and nothing of the user's statement.
func judge(option string, mode Mode) bool {
	p := parser.New()
	var sqlMode mysql.SQLMode
	if mode.ANSIQuotes {
		sqlMode |= mysql.ModeANSIQuotes
	}
	if mode.NoBackslashEscapes {
		sqlMode |= mysql.ModeNoBackslashEscapes
	}

	p.SetSQLMode(sqlMode)
	node, err := p.ParseOneStmt("ALTER TABLE t "+option, "", "")
	if err != nil {
		return false
	}

	alter, ok := node.(*ast.AlterTableStmt)
	return ok && len(alter.Specs) == 1 && len(alter.Specs[0].Options) == 1
}

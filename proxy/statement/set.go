package statement

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// set answers SET GLOBAL ttl_… = …, alone or together with variables of the server. Values are
// checked first, then the server sets its own, then ours are stored, all or none.
func (a *admin) set(ctx context.Context, s *ddl.SetVariables) error {
	ctx, cancel := context.WithTimeout(ctx, adminWait)
	defer cancel()

	if err := a.maySetAll(s); err != nil {
		return err
	}

	question, err := a.withOurs(ctx, proxy.SelectValues(expressions(s.Ours)...))
	if err != nil {
		return err
	}

	c, err := checkValues(a.q.x, s.Ours, question)
	if err != nil {
		return err
	}
	c.reach(ctx)

	if s.Rest == "" {
		if err := a.storeSettings(ctx, c); err != nil {
			return err
		}
		return a.ok(&reply{notes: c.notes})
	}

	rest, err := a.withOurs(ctx, s.Rest)
	if err != nil {
		return err
	}

	h, err := a.q.x.Hold(rest)
	if err != nil {
		return err
	}

	return a.setBehind(ctx, h, c)
}

// setBehind stores our settings when the server has set its own, and passes its answer on with our
// warnings.
func (a *admin) setBehind(ctx context.Context, h *proxy.Held, c *checked) error {
	if h.Failed() {
		return a.q.x.Send(h)
	}
	if err := a.storeSettings(ctx, c); err != nil {
		return refuse("%s%v", halfSet, err)
	}
	a.q.x.Leave(c.notes...)
	return a.q.x.SendOK(h, func(o *wire.OK) { o.Warnings += uint16(len(c.notes)) })
}

const halfSet = "the server's variables are set, but not ours: "

// maySetAll checks that these are global settings of ours and that the client may change such.
func (a *admin) maySetAll(s *ddl.SetVariables) error {
	for _, v := range s.Ours {
		if _, known := setting.Find(v.Name); !known {
			return &wire.Error{
				Code: ddl.CodeUnknownVariable, State: "HY000",
				Message: "Unknown system variable '" + v.Name + "'",
			}
		}
		if v.Scope != ddl.ScopeGlobal {
			return &wire.Error{
				Code: ddl.CodeGlobalVariable, State: "HY000",
				Message: "Variable '" + v.Name + "' is a GLOBAL variable and should be set with SET GLOBAL",
			}
		}
	}
	return a.maySet()
}

// expressions are what the server is asked to evaluate: the session's distance from UTC, and every
// value that is not a word such as ON, which stands for itself.
func expressions(ours []ddl.Assignment) []string {
	list := []string{"TIME_TO_SEC(TIMEDIFF(NOW(), UTC_TIMESTAMP()))"}
	for _, v := range ours {
		if v.Word {
			list = append(list, literal(v.Value))
			continue
		}
		list = append(list, v.Value)
	}
	return list
}

// checked are new values that can be stored.
type checked struct {
	values map[string]string
	notes  []proxy.Note
}

// checkValues asks the server for the values and checks them.
func checkValues(x *proxy.Exchange, ours []ddl.Assignment, question string) (*checked, error) {
	values, err := x.AskRow(question)
	if err != nil {
		return nil, err
	}

	seconds, err := strconv.Atoi(string(values[0]))
	if err != nil {
		return nil, refuse("the server's distance from UTC is not a number: %s", values[0])
	}

	zone := time.FixedZone("", seconds)
	c := &checked{values: map[string]string{}}
	for i, v := range ours {
		if err := c.check(v, values[i+1], zone); err != nil {
			return nil, err
		}
	}

	return c, nil
}

// check takes a value, which is nil for NULL.
func (c *checked) check(v ddl.Assignment, value []byte, zone *time.Location) error {
	s, _ := setting.Find(v.Name)
	if v.Word && strings.EqualFold(v.Value, "DEFAULT") {
		c.values[s.Name] = setting.Unset
		return nil
	}
	if value == nil {
		return refusal(s.RefuseNull())
	}

	stored, warning, refused := s.Check(string(value), zone)
	if refused != nil {
		return refusal(refused)
	}
	if warning != nil {
		c.notes = append(c.notes, proxy.Note{Level: "Warning", Code: warning.Code, Message: warning.Message})
	}

	c.values[s.Name] = stored
	return nil
}

func (a *admin) storeSettings(ctx context.Context, c *checked) error {
	return a.q.store.Set(ctx, a.q.session.account, c.values)
}

package status

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ttlproxy/ttlproxy/catalog/report"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
)

type openAPIDoc struct {
	Paths      map[string]map[string]json.RawMessage `json:"paths"`
	Components struct {
		Schemas map[string]openAPISchema `json:"schemas"`
	} `json:"components"`
}

type openAPISchema struct {
	Required   []string                   `json:"required"`
	Properties map[string]json.RawMessage `json:"properties"`
}

func readOpenAPI(t *testing.T) openAPIDoc {
	t.Helper()
	var doc openAPIDoc
	if err := json.Unmarshal(openAPIDocument, &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestOpenAPINamesEveryRoute(t *testing.T) {
	t.Parallel()
	var want, got []string
	for _, r := range testRoutes("") {
		if strings.HasPrefix(r.pattern, "/api/") {
			want = append(want, strings.ToLower(r.method)+" "+r.pattern)
		}
	}

	for path, methods := range readOpenAPI(t).Paths {
		for method := range methods {
			got = append(got, method+" "+path)
		}
	}

	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestOpenAPIAsksForTheToken holds the security of the document against that of the routes.
func TestOpenAPIAsksForTheToken(t *testing.T) {
	t.Parallel()
	doc := readOpenAPI(t)
	for _, r := range testRoutes("") {
		if !strings.HasPrefix(r.pattern, "/api/") {
			continue
		}

		documented := strings.Contains(string(doc.Paths[r.pattern][strings.ToLower(r.method)]), `"security"`)
		if documented != (r.access == needToken) {
			t.Errorf("%s %s: got security %v in the document, want %v", r.method, r.pattern, documented, !documented)
		}
		if r.method != "GET" && r.access != needToken {
			t.Errorf("%s %s changes something without the token", r.method, r.pattern)
		}
	}
}

func TestOpenAPISchemasAreTheAnswers(t *testing.T) {
	t.Parallel()
	schemas := readOpenAPI(t).Components.Schemas
	for name, value := range map[string]any{
		"Problem": problem{}, "Backend": report.Backend{},
		"Overview": overview{}, "Pause": pauseView{}, "Verdict": verdictView{},
		"LastJob": lastView{},
		"Table":   tableView{}, "Rows": rowsView{}, "Job": jobView{}, "Task": taskView{}, "Node": nodeView{},
		"Throttle": throttleView{}, "Reading": readingView{},
		"Event":    eventView{},
		"Session":  report.Session{},
		"RowError": errorView{}, "Setting": settingView{}, "Totals": seriesTotals{}, "Signal": signalSeries{},
		"Series": series{},
		"Done":   done{}, "Order": order{}, "Preview": plan.Preview{}, "Day": plan.Day{}, "Seen": plan.Seen{},
	} {
		fields, required := jsonFields(value)
		schema := schemas[name]
		if got := slices.Sorted(maps.Keys(schema.Properties)); !slices.Equal(got, fields) {
			t.Errorf("%s: got properties %v, want %v", name, got, fields)
		}

		slices.Sort(schema.Required)
		if name != "Order" && !slices.Equal(schema.Required, required) {
			t.Errorf("%s: got required %v, want %v", name, schema.Required, required)
		}
	}
}

// jsonFields are the names a value has in JSON, and those that are always there.
func jsonFields(value any) (all, required []string) {
	typ := reflect.TypeOf(value)
	for field := range typ.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" {
			panic(fmt.Sprintf("%v.%s has no name in JSON", typ, field.Name))
		}

		all = append(all, name)
		if options != "omitempty" {
			required = append(required, name)
		}
	}

	slices.Sort(all)
	slices.Sort(required)
	return all, required
}

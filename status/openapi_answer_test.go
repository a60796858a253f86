package status

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// jsonSchema is as much of JSON Schema as openapi.json makes use of.
type jsonSchema struct {
	Ref        string                 `json:"$ref"`
	Type       any                    `json:"type"` // one, or a list
	Format     string                 `json:"format"`
	Enum       []any                  `json:"enum"`
	OneOf      []jsonSchema           `json:"oneOf"`
	Required   []string               `json:"required"`
	Properties map[string]*jsonSchema `json:"properties"`
	Additional *jsonSchema            `json:"additionalProperties"`
	Items      *jsonSchema            `json:"items"`
}

// contract is what openapi.json promises about answers.
type contract struct {
	Paths map[string]map[string]struct {
		Responses map[string]struct {
			Content map[string]struct{ Schema jsonSchema } `json:"content"`
		} `json:"responses"`
	} `json:"paths"`
	Components struct {
		Schemas map[string]jsonSchema `json:"schemas"`
	} `json:"components"`
}

func readContract(t *testing.T) *contract {
	t.Helper()
	var c contract
	if err := json.Unmarshal(openAPIDocument, &c); err != nil {
		t.Fatal(err)
	}
	return &c
}

// wrongIn says where an answer is not what is promised.
func (c *contract) wrongIn(pattern, method string, code int, body string) []string {
	promised, ok := c.Paths[pattern][strings.ToLower(method)]
	if !ok {
		return []string{"not documented"}
	}

	answer, ok := promised.Responses[fmt.Sprint(code)]
	if !ok {
		answer = promised.Responses["default"]
	}

	schema := answer.Content["application/json"].Schema
	var value any
	if err := json.Unmarshal([]byte(body), &value); err != nil {
		return []string{err.Error()}
	}

	return c.wrong("answer", &schema, value)
}

func (c *contract) wrong(at string, s *jsonSchema, v any) []string {
	if s.Ref != "" {
		named := c.Components.Schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
		s = &named
	}

	if len(s.OneOf) > 0 {
		for i := range s.OneOf {
			if c.wrong(at, &s.OneOf[i], v) == nil {
				return nil
			}
		}
		return []string{at + ": is none of what it may be"}
	}

	if kind := kindOf(v); !slices.Contains(typesOf(s.Type), kind) &&
		(kind != "integer" || !slices.Contains(typesOf(s.Type), "number")) {
		return []string{fmt.Sprintf("%s: got %s, want %v", at, kind, s.Type)}
	}
	if s.Enum != nil && !slices.Contains(s.Enum, v) {
		return []string{fmt.Sprintf("%s: got %v, want one of %v", at, v, s.Enum)}
	}

	switch v := v.(type) {
	case string:
		if _, err := time.Parse(time.RFC3339, v); s.Format == "date-time" && err != nil {
			return []string{at + ": " + err.Error()}
		}
	case []any:
		var all []string
		for i, item := range v {
			all = append(all, c.wrong(fmt.Sprintf("%s[%d]", at, i), s.Items, item)...)
		}
		return all
	case map[string]any:
		return c.wrongObject(at, s, v)
	}

	return nil
}

func (c *contract) wrongObject(at string, s *jsonSchema, v map[string]any) (all []string) {
	for _, name := range s.Required {
		if _, ok := v[name]; !ok {
			all = append(all, at+"."+name+": is missing")
		}
	}

	if s.Properties == nil && s.Additional == nil { // any object
		return all
	}

	for _, name := range slices.Sorted(maps.Keys(v)) {
		property := s.Properties[name]
		if property == nil {
			property = s.Additional
		}
		if property == nil {
			all = append(all, at+"."+name+": is not documented")
			continue
		}

		all = append(all, c.wrong(at+"."+name, property, v[name])...)
	}

	return all
}

func typesOf(v any) []string {
	if one, ok := v.(string); ok {
		return []string{one}
	}
	var all []string
	if list, ok := v.([]any); ok {
		for _, one := range list {
			all = append(all, fmt.Sprint(one))
		}
	}
	return all
}

func kindOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case float64:
		if v == float64(int64(v)) {
			return "integer"
		}
		return "number"
	default:
		return "object"
	}
}

// TestContractFindsWhatIsWrong makes sure that the checks below can fail.
func TestContractFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	c := readContract(t)
	for body, want := range map[string]string{
		`{"tasks":[{"id":"7"}]}`:    "answer.tasks[0].id: got string, want integer",
		`{"tasks":[{"since":"x"}]}`: "answer.tasks[0].since: parsing time",
		`{"tasks":[{"more":1}]}`:    "answer.tasks[0].more: is not documented",
		`{"tasks":[{}]}`:            "answer.tasks[0].id: is missing",
		`{}`:                        "answer.tasks: is missing",
	} {
		got := strings.Join(c.wrongIn("/api/v1/jobs/{job}/tasks", "GET", http.StatusOK, body), "\n")
		if !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", body, got, want)
		}
	}
}

// TestEveryAnswerIsAsDocumented asks every route of a catalog that has something to tell.
func TestEveryAnswerIsAsDocumented(t *testing.T) {
	t.Parallel()
	onCatalog(t, func(s *scene) {
		node, err := s.store.Join(s.Context(), catalog.Node{Name: "n", Engine: true, Workers: 4})
		if err != nil {
			s.Fatal(err)
		}
		if _, err := s.store.Acquire(s.Context(), scheduler, node, time.Hour); err != nil {
			s.Fatal(err)
		}

		s.rowError("4711")
		s.sample(node, time.Minute, 12)
		s.job()
		s.want("POST", "/api/v1/tables/{table}/cancel", "", 200, "")
		open := s.job().ID
		s.want("POST", "/api/v1/tables/{table}/pause", `{"minutes":5,"reason":"so that there is one"}`, 200, "")
		s.want("POST", "/api/v1/pause", "", 200, "")

		c := readContract(s.T)

		for _, r := range s.api.routes() {
			if !strings.HasPrefix(r.pattern, "/api/") {
				continue
			}

			path := strings.NewReplacer("{schema}/{table}", "{table}", "{job}", fmt.Sprint(open)).Replace(r.pattern)
			code, body := s.ask(r.method, path, testToken, "")
			if r.method == http.MethodGet && code != http.StatusOK {
				s.Errorf("%s %s: got %d %s", r.method, path, code, body)
			}
			if wrong := c.wrongIn(r.pattern, r.method, code, body); wrong != nil {
				s.Errorf("%s %s: got %d %s\n%s", r.method, path, code, body, strings.Join(wrong, "\n"))
			}
			if empty := emptyList.FindString(body); r.method == http.MethodGet && empty != "" {
				s.Errorf("%s %s: %s shows nothing of what it promises", r.method, path, empty)
			}
		}

		s.divided(c)
	})
}

// divided asks about the table once it has partitions.
func (s *scene) divided(c *contract) {
	s.Helper()
	table := s.policy.Table
	if _, err := s.db.ExecContext(s.Context(), "ALTER TABLE "+table.String()+
		" DROP PRIMARY KEY, ADD PRIMARY KEY (id, at) PARTITION BY RANGE COLUMNS (at) "+
		"(PARTITION past VALUES LESS THAN ('2001-01-01'), PARTITION later VALUES LESS THAN (MAXVALUE))"); err != nil {
		s.Fatal(err)
	}

	const path = "/api/v1/tables/{table}/partitions"
	code, body := s.ask("GET", path, testToken, "")
	wrong := c.wrongIn("/api/v1/tables/{schema}/{table}/partitions", "GET", code, body)
	if wrong != nil || !strings.Contains(body, `"name":"past","bound":"'2001-01-01'"`) ||
		!strings.Contains(body, `"due":"2001-01-`) {
		s.Errorf("%s: got %d %s\n%s", path, code, body, strings.Join(wrong, "\n"))
	}
}

// emptyList finds lists of our own values in which nothing was checked.
var emptyList = regexp.MustCompile(`"(tables|jobs|nodes|events|errors|tasks|settings|samples|due_per_day|times)":\[\]`)

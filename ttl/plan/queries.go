package plan

// Queries about tables, from information_schema. Parameters: schema, table.
const (
	selectTriggers = `
SELECT TRIGGER_NAME FROM information_schema.TRIGGERS
 WHERE EVENT_OBJECT_SCHEMA = ? AND EVENT_OBJECT_TABLE = ? AND EVENT_MANIPULATION = 'DELETE'`
)

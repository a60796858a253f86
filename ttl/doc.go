// Package ttl is the deletion engine: it starts jobs when policies are due and deletes expired rows in small batches.
package ttl

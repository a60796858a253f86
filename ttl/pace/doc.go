// Package pace decides how fast rows are deleted: arithmetic, without a database.
//
//   - Throttle (throttle.go) says when the next rows may be looked for and the next DELETE be sent,
//     and how many rows at a time; All is the strictest of several.
//   - Duty (duty.go) is the share of their time that workers may spend; Control (control.go) makes it
//     from what signals say.
//   - Errand (errand.go) is the same for whoever has no time to wait, and comes again.
//   - Beside (beside.go) is how much of it deletion has while an application is at work.
//   - Rates (rate.go) are this node's share of the limits, in statements and rows a second;
//     TableRates (table_rates.go) those that a table has for itself.
//   - BatchSize (size.go) learns how many rows a statement may have to take the time that it is to
//     take.
//   - Queue (queue.go) says which job the next free worker serves; a Slice (slice.go) is how long it
//     stays with that, unless it is called to one that a person has asked for (call.go).
//   - Gang (gang.go) finds out how many workers pay.
//
// Nothing here sleeps without watching its context, and nothing decides whether a row may go.
package pace

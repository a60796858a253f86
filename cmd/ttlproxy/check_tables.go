package main

import (
	"context"
	"fmt"

	"github.com/ttlproxy/ttlproxy/catalog/checkup"
	"github.com/ttlproxy/ttlproxy/catalog/report"
)

// diagnose examines the deletion itself: whether any engine does it, and which tables somebody
// should look at.
func diagnose(ctx context.Context, from report.Source) ([]checkup.Finding, error) {
	s, err := report.Read(ctx, from)
	if err != nil {
		return nil, err
	}

	engines := checkup.Finding{Level: checkup.OK, Name: "engines", Text: "there is an engine to run jobs"}
	if !s.HasEngine() {
		engines = checkup.Finding{
			Level: checkup.Warning, Name: "engines",
			Text: "no engine is running, so nothing is deleted", Advice: "start ttlproxy serve, without --engine=off",
		}
	}

	if halt := s.Halt(); halt.Code == report.HaltStopped || halt.Code == report.HaltServer {
		engines = checkup.Finding{Level: checkup.Warning, Name: "engines", Text: "nothing is deleted: " + halt.Why}
	} else if why := s.SomeStopped(); why != "" {
		engines = checkup.Finding{Level: checkup.Warning, Name: "engines", Text: "stopped: " + why}
	} else if why := s.HeldBack(); why != "" {
		engines = checkup.Finding{Level: checkup.Warning, Name: "engines", Text: "every engine is held back: " + why}
	}

	findings := []checkup.Finding{engines}
	for _, w := range s.Work() {
		v, table := report.Judge(w), w.Policy.Table
		if advice := adviceFor(v.Word, w); advice != "" && (w.Halt == "" || v.Word == report.NeedsApproval) {
			name := "table " + table.String()
			if w.Partition != "" {
				name += " partition " + w.Partition
			}
			findings = append(findings, checkup.Finding{
				Level: checkup.Warning, Name: name, Text: v.String(),
				Advice: advice,
			})
		}
	}

	return findings, nil
}

// adviceFor says what to do about a verdict; nothing about a good one, nor about those that the
// rest of the check covers.
func adviceFor(word report.Word, w *report.Work) string {
	t := w.Policy.Table
	switch word {
	case report.NeedsApproval:
		return fmt.Sprintf("EXPLAIN TTL %s shows what would go, APPROVE TTL JOB FOR %[1]s lets it go", t)
	case report.FallingBehind:
		if w.Stuck != "" {
			return fmt.Sprintf("SHOW TTL PARTITIONS FOR %s has them all", t)
		}
		return fmt.Sprintf("SHOW TTL JOBS FOR %s and SHOW TTL ERRORS FOR %[1]s say more", t)
	case report.Paused:
		return fmt.Sprintf("RESUME TTL FOR %s, if a person has paused it", t)
	default:
		return ""
	}
}

package catalog

import (
	"context"
	"fmt"
	"unicode"
)

// Servers fold names by tables of their own, which know fewer letters than ours: to them Ɂ and ɂ
// are different, and a policy on one name must not move to the other. So the server is asked what
// it makes of each letter that has another case in any table.
const selectLetters = `SELECT LOWER(CONVERT(? USING utf8mb3) COLLATE utf8mb3_general_ci)`

// readLetters asks which letters the server stores as others in the names of tables and schemas.
func readLetters(ctx context.Context, db execer) (map[rune]rune, error) {
	asked := lettersWithCase()
	var answer string
	if err := db.QueryRowContext(ctx, selectLetters, string(asked)).Scan(&answer); err != nil {
		return nil, fmt.Errorf("read how the server folds names: %w", err)
	}

	lower := []rune(answer)
	if len(lower) != len(asked) {
		return nil, fmt.Errorf("read how the server folds names: it knows %d letters of %d", len(lower), len(asked))
	}

	letters := map[rune]rune{}
	for i, r := range asked {
		if lower[i] != r {
			letters[r] = lower[i]
		}
	}

	return letters, nil
}

// lettersWithCase are all that can be in a name and have another case by the newest table we have.
func lettersWithCase() []rune {
	var all []rune
	for r := rune('A'); r <= 0xFFFF; r++ {
		if unicode.SimpleFold(r) != r || unicode.ToLower(r) != r || unicode.ToUpper(r) != r {
			all = append(all, r)
		}
	}
	return all
}

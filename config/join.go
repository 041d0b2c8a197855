package config

import "errors"

// Join puts the problems of several errors, nil ones among them, into one
// *Error in the order of the file. It returns nil when there are none. An
// error of another type becomes a problem without a place.
func Join(errs ...error) error {
	var all report
	for _, err := range errs {
		var e *Error
		switch {
		case errors.As(err, &e):
			all.problems = append(all.problems, e.Problems...)
		case err != nil:
			all.problems = append(all.problems, Problem{Text: err.Error()})
		}
	}
	return all.err()
}

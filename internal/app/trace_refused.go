package app

import (
	"strings"
	"time"
)

// What the ids of answers begin with, or hold, that tell a person that a message
// was not taken in: those of channels/access, then those of the intake.
const (
	answerPairing = "pair"
	answerTooFast = "slow"
	answerNoPress = "press"
	answerFull    = "full"
	answerLarge   = "large"
)

// refusals are why a message was not taken in, by what stands in the id of the
// answer that told it.
func refusals() map[string]string {
	return map[string]string{
		answerPairing: "the sender is not paired, and was answered with a pairing code (bot pair list)",
		answerTooFast: "the sender wrote more than security.rate_limit allows",
		answerNoPress: "the sender may not press buttons here",
		answerLarge:   "it is larger than the bus takes",
		answerFull:    "too many messages of the chat were waiting",
	}
}

// refusedAs are the ids that the answer to a refused message can have, where
// they follow from the message's.
func refusedAs(id string) []string {
	return []string{answerPairing + ":" + id, answerTooFast + ":" + id, answerNoPress + ":" + id}
}

// refused says so when the answer out tells that a message was not taken in.
func (t *tracer) refused(at time.Time, out string) {
	what := strings.Split(out, ":")
	why := refusals()[what[0]]
	if what[0] == "out" && len(what) > 2 {
		why = refusals()[what[2]]
	}
	if why != "" && t.once("refused "+out) {
		t.step(at, 0, "not taken in", "%s", why)
	}
}

package api_test

import (
	"errors"
	"net/http"
	"slices"
	"testing"

	"parley.internal/client/hubapi"
)

// The inbox took a hundred answers and REST sixteen: a skill with more dangers could not be
// approved on the page. Whether there is such a question is looked at after the answers.
func TestAsManyAnswersAsAQuestionHasComeOverREST(t *testing.T) {
	r := newRig(t)
	body := map[string]any{"approved": true, "answers": slices.Repeat([]string{"acknowledged"}, 201)}
	err := r.owner.Do(t.Context(), "POST", "/api/approvals/nothing", nil, body, nil)
	if problem, ok := errors.AsType[*hubapi.Error](err); !ok || problem.Status != http.StatusNotFound {
		t.Errorf("201 answers to a question that is not there: %v, expected that it is not there", err)
	}
}

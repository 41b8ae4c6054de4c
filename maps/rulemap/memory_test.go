package rulemap

import (
	"errors"
	"slices"
	"syscall"
	"testing"
)

func TestPersist(t *testing.T) {
	full := errors.New("full")
	type answer struct {
		n   int
		err error
	}
	tests := []struct {
		name    string
		answers []answer
		froms   []int // what each write began with
		want    error
	}{
		{"at once", []answer{{10, nil}}, []int{0}, nil},
		{"out of memory twice", []answer{{3, syscall.ENOMEM}, {0, syscall.ENOMEM}, {7, nil}}, []int{0, 3, 3}, nil},
		{"another error", []answer{{3, full}}, []int{0}, full},
		{"another error later", []answer{{3, syscall.ENOMEM}, {1, full}}, []int{0, 3}, full},
		{
			"used up", slices.Repeat([]answer{{0, syscall.ENOMEM}}, 1+reclaims),
			slices.Repeat([]int{0}, 1+reclaims), syscall.ENOMEM,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var froms []int
			err := persist(10, func(from int) (int, error) {
				a := tt.answers[len(froms)]
				froms = append(froms, from)
				return a.n, a.err
			})
			if !errors.Is(err, tt.want) || !slices.Equal(froms, tt.froms) {
				t.Errorf("error %v, writes from %v; want %v, %v", err, froms, tt.want, tt.froms)
			}
		})
	}
}

// A loop in pieces, and the worker that goes on when all of it is done
// (engine/include/corewise/engine/detail/loop.hpp).
//
// check: pass
// check: pass -DWORKERS=3
// check: pass -DGIVES_WAY
// check: pass -DSIZE=3 -DWORKERS=3 -DGIVES_WAY -DSTOPS
// check: fail -DCOUNTED_LATER
// check: fail -DTAKEN_UNCOUNTED
// check: fail -DLOAD_AND_STORE
// check: fail -DLAST_OF_TWO
// check: fail -DRESULT_LATER
// check: fail -DREUSED
//
// The worker that runs a piece does one element after the other, may fork the right half of what is left, as
// a new piece or as the one that it took back, and at its end takes that back if no other worker has it.
// Other workers take any piece that is forked. With GIVES_WAY a piece may be left to the next worker that
// comes; with STOPS pieces may end before their elements do. In the end each element was done once, the list
// has the pieces in the elements' order, and one worker goes on, when no other touches the loop any more. The
// work on an element reaches other threads only with a release: it is a step of its own.
//
// COUNTED_LATER     a piece is forked first and counted then
// TAKEN_UNCOUNTED   a piece that was taken back goes on counting
// LOAD_AND_STORE    an arrival reads `open` and then stores one less
// LAST_OF_TWO       one of the last two arrives without a read-modify-write, as the last one does
// RESULT_LATER      an arrival is no release (tag *looped* weakened)
// REUSED            a piece that has ended is used again before the loop has

#ifndef SIZE
#define SIZE 4
#endif
#ifndef WORKERS
#define WORKERS 2
#endif
#define PIECES 5 // it never needs as many
#define NONE PIECES

byte at[PIECES], end[PIECES]; // what is left of a piece
byte after[PIECES] = NONE;    // its neighbour in the list
byte right[PIECES] = NONE;    // the half that it forked last
byte taken_back[PIECES] = NONE;
bool forked[PIECES]; // in a deque
bool queued[PIECES]; // in another queue: it gave way
byte made = 1;
short open = 1;
byte done[SIZE];
bool stopped, resumed;
#ifdef REUSED
byte old = NONE;
#endif

inline touch() { assert(!resumed) }


inline do_one() {
  touch();
#ifdef RESULT_LATER
  if
  :: late != SIZE -> done[late]++
  :: else
  fi;
  late = at[p];
#else
  done[at[p]]++;
#endif
  at[p]++
}

inline split() {
  d_step {
    touch();
    q = taken_back[p];
    taken_back[p] = NONE;
#ifdef REUSED
    if
    :: q == NONE -> q = old; old = NONE; after[q] = after[p]; after[p] = q
    :: else
    fi;
#endif
    if
    :: q == NONE ->
      assert(made < PIECES);
      q = made;
      made++;
      after[q] = after[p];
      after[p] = q
    :: else
    fi;
    end[q] = end[p];
    at[q] = at[p] + (end[p] - at[p] + 1) / 2;
    end[p] = at[q];
    right[p] = q
  }
#ifndef COUNTED_LATER
  d_step { touch(); open++ }
#endif
  forked[q] = 1;
#ifdef COUNTED_LATER
  d_step { touch(); open++ }
#endif
  q = NONE
}

// q is the piece that was taken, or NONE
inline take_right_back() {
  d_step {
    q = right[p];
    right[p] = NONE;
    if
    :: q != NONE && forked[q] ->
      forked[q] = 0;
      end[p] = end[q];
      at[q] = end[q];
      taken_back[p] = q
    :: else -> q = NONE
    fi
  }
#ifndef TAKEN_UNCOUNTED
  if
  :: q != NONE -> d_step { touch(); open-- }
  :: else
  fi
#endif
}

inline go_on() {
  d_step {
    assert(!resumed);
    resumed = 1;
    p = 0;
    before = 0;
    do
    :: p == NONE -> break
    :: else ->
      assert(!forked[p] && !queued[p]);
      assert(stopped || at[p] == end[p]);
      assert(end[p] >= before);
      before = end[p];
      p = after[p]
    od;
    assert(before == SIZE);
    p = 0;
    do
    :: p == SIZE -> break
    :: else -> assert(done[p] == 1 || stopped && done[p] == 0); p++
    od
  }
}

active [WORKERS] proctype worker() {
  byte p = NONE, q = NONE, before;
#ifdef RESULT_LATER
  byte late = SIZE;
#endif
  bool last;
  if
  :: _pid == 0 -> p = 0; end[0] = SIZE; goto runs
  :: else
  fi;
end_looks:
  atomic {
    if
    :: forked[1] -> p = 1
    :: forked[2] -> p = 2
    :: forked[3] -> p = 3
    :: forked[4] -> p = 4
    :: queued[0] -> p = 0
    :: queued[1] -> p = 1
    :: queued[2] -> p = 2
    :: queued[3] -> p = 3
    :: queued[4] -> p = 4
    fi;
    forked[p] = 0;
    queued[p] = 0
  }
runs:
  do
  :: at[p] < end[p] -> do_one()
  :: end[p] - at[p] > 1 -> split() // also while its earlier right halves are forked
  :: at[p] == end[p] ->
    take_right_back();
    if
    :: q == NONE -> break
    :: else -> q = NONE
    fi
#ifdef STOPS
  :: at[p] < end[p] -> stopped = 1; break
#endif
#ifdef GIVES_WAY
  :: at[p] < end[p] ->
    take_right_back();
    q = NONE;
    queued[p] = 1;
    p = NONE;
    goto end_looks
#endif
  od;
  // it arrives
#ifdef REUSED
  old = p;
#endif
  last = 0;
  if
#ifdef LAST_OF_TWO
  :: open <= 2 ->
#else
  :: open == 1 ->
#endif
    touch();
    last = 1
  :: else ->
#ifdef LOAD_AND_STORE
    before = open;
    d_step { touch(); open = before - 1 }
#else
    d_step { touch(); before = open; open-- }
#endif
    last = before == 1
  fi;
#ifdef RESULT_LATER
  if
  :: late != SIZE -> done[late]++; late = SIZE
  :: else
  fi;
#endif
  if
  :: last -> go_on()
  :: else
  fi;
  p = NONE;
  before = 0;
  goto end_looks
}

active proctype monitor() {
  timeout -> assert(resumed)
}

// The fork deque (engine/src/queues/fork_deque.hpp): its owner pushes and pops at the bottom, two thieves
// steal at the top.
//
// check: pass
// check: pass -DNO_GROWTH
// check: pass -DTHIEVES=1 -DTHIEF_ROUNDS=4
// check: pass -DNO_GROWTH -DROWS
// check: pass -DTHIEVES=1 -DTHIEF_ROUNDS=4 -DROWS
// check: fail -DNO_POP_FENCE
// check: fail -DNO_STEAL_FENCE
// check: fail -DLAST_WITHOUT_CAS
// check: fail -DFREE_GROWN
// check: fail -DNO_GROWTH -DREAD_LATE
// check: fail -DFORKED_RELAXED
//
// The deque begins with room for 2 and grows to 4 (NO_GROWTH: it refuses a push when it is full). The value
// of `bottom` that other threads see lags behind the owner's stores until a fence or a read-modify-write of
// the owner's; cells and the array are seen before.
//
// ROWS               the owner also pushes two tasks at once, and takes back tasks without looking whether
//                    thieves have emptied the deque
// NO_POP_FENCE       pop looks at top before others see that it has made bottom smaller
// NO_STEAL_FENCE     a thief reads bottom before top
// LAST_WITHOUT_CAS   the owner takes the last task as it takes any other
// FREE_GROWN         the replaced array is given back at once
// READ_LATE          a thief copies the task after its CAS
// FORKED_RELAXED     bottom is seen before the cell below it (tag *forked* weakened)

#ifndef TASKS
#define TASKS 4
#endif
#ifndef THIEVES
#define THIEVES 2
#endif
#ifndef THIEF_ROUNDS
#define THIEF_ROUNDS 2
#endif
#define SMALL 2
#define LARGE 4

byte small_cells[SMALL];
byte large_cells[LARGE];
bool grown;
bool freed;
byte top = 1;
byte bottom = 1;     // what others see
byte own_bottom = 1; // what the owner has stored
chan buffer = [3] of { byte };
bit taken[TASKS + 1];
byte taken_count;

inline take(value) {
  assert(value != 0 && !taken[value]); // else: from an empty cell, or taken twice
  taken[value] = 1;
  taken_count++
}

inline put(position, value) {
  if
  :: grown -> large_cells[(position) % LARGE] = value
  :: else -> small_cells[(position) % SMALL] = value
  fi
}

inline store_bottom(value) {
  d_step { nfull(buffer) -> own_bottom = value; buffer!own_bottom }
}
inline fence() { empty(buffer) }

active proctype memory() {
end:
  do
  :: d_step { buffer?bottom }
  od
}

// fork_deque::push, push_row: of one or two
inline push() {
  seen_top = top;
  count = 1;
#ifdef ROWS
  if
  :: next_task < TASKS -> count = 2
  :: true
  fi;
#endif
  if
  :: own_bottom + count - seen_top <= SMALL || (grown && own_bottom + count - seen_top <= LARGE)
  :: else ->
#ifdef NO_GROWTH
    goto pushed;
#else
    assert(!grown);
    // reserve: from top to bottom; the new array is the owner's until the owner shows it
    d_step {
      do
      :: seen_top < own_bottom -> large_cells[seen_top % LARGE] = small_cells[seen_top % SMALL]; seen_top++
      :: else -> break
      od
    }
    grown = 1;
#ifdef FREE_GROWN
    freed = 1;
#endif
#endif
  fi;
#ifdef FORKED_RELAXED
  store_bottom(own_bottom + count);
  d_step { put_row(own_bottom - count) }
#else
  d_step { put_row(own_bottom) }
  store_bottom(own_bottom + count);
#endif
pushed:
  seen_top = 0
}
inline put_row(first) {
  put(first, next_task);
  next_task++;
  if
  :: count == 2 -> put(first + 1, next_task); next_task++
  :: else
  fi
}

// fork_deque::pop; sets `drained` when there is none. fork_deque::take_back, `blind`: does not look first
inline pop(blind) {
  seen_top = top;
  if
  :: !blind && seen_top == own_bottom -> drained = 1
  :: else ->
#ifdef NO_POP_FENCE
    seen_top = top;
    store_bottom(own_bottom - 1);
#else
    store_bottom(own_bottom - 1);
    fence();
    seen_top = top;
#endif
    if
#ifdef LAST_WITHOUT_CAS
    :: seen_top <= own_bottom -> take_newest()
#else
    :: seen_top < own_bottom -> take_newest()
    :: seen_top == own_bottom ->
      atomic {
        empty(buffer);
        won = top == seen_top;
        if
        :: won -> top++
        :: else
        fi
      }
      if
      :: won -> take_newest()
      :: else
      fi;
      won = 0;
      store_bottom(own_bottom + 1)
#endif
    :: seen_top > own_bottom -> store_bottom(own_bottom + 1)
    fi
  fi;
  seen_top = 0
}
inline take_newest() {
  d_step {
    if
    :: grown -> take(large_cells[own_bottom % LARGE])
    :: else -> take(small_cells[own_bottom % SMALL])
    fi
  }
}

active proctype owner() {
  byte seen_top, next_task = 1, count;
  bit drained, won;
  do
  :: next_task <= TASKS -> push()
  :: pop(0)
#ifdef ROWS
  :: own_bottom > 1 -> pop(1) // there are cells
#endif
  :: next_task > TASKS -> break
  od;
  drained = 0;
  do
  :: drained -> break
  :: else -> pop(0)
  od
}

inline copy_oldest() {
  // the array first, then its cell
  array_is_large = grown;
  d_step {
    assert(array_is_large || !freed);
    if
    :: array_is_large -> task = large_cells[seen_top % LARGE]
    :: else -> task = small_cells[seen_top % SMALL]
    fi
  }
}

// fork_deque::steal
active[THIEVES] proctype thief() {
  byte seen_top, seen_bottom, task, rounds;
  bit won, array_is_large;
  do
  :: rounds == THIEF_ROUNDS -> break
  :: else ->
    rounds++;
#ifdef NO_STEAL_FENCE
    seen_bottom = bottom;
    seen_top = top;
#else
    seen_top = top;
    seen_bottom = bottom;
#endif
    if
    :: seen_top >= seen_bottom
    :: else ->
#ifndef READ_LATE
      copy_oldest();
#endif
      d_step {
        won = top == seen_top;
        if
        :: won -> top++
        :: else
        fi
      }
      if
      :: won ->
#ifdef READ_LATE
        copy_oldest();
#endif
        d_step { take(task) }
      :: else
      fi
    fi;
    d_step { seen_top = 0; seen_bottom = 0; task = 0; won = 0; array_is_large = 0 }
  od
}

active proctype monitor() {
  timeout -> assert(taken_count == TASKS && top == own_bottom)
}

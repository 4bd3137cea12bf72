// Children that are forked and joined (engine/include/corewise/engine/detail/fork_join.hpp).
//
// check: pass
// check: pass -DCHILDREN=4
// check: pass -DDROPS
// check: fail -DLOAD_AND_STORE
// check: fail -DNOTHING_ADDED
// check: fail -DADDED_FIRST
// check: fail -DRESULT_LATER
// check: fail -DDROPS -DDROPPED_AT_ONCE
// check: fail -DDROPS -DDROPPED_UNSAID
// check: fail -DDROPS -DNOT_IN_FRONT
// check: fail -DDROPS -DLISTED_LATER
//
// The worker in place runs the first child, then takes back the newest that is still in the deque, as long as
// it likes; it adds the others to `away` when it ends. Two thieves take the oldest. With DROPS the engine
// ends meanwhile: a thief that takes a child may drop it instead, and the child in place may be suspended and
// dropped. The last to come destroys the dropped children: it finds them from `next` on in the list of the
// forked ones, and the one in place in front of them. A child's result, and other stores to its frame, reach
// other threads only with a release: each is a step of its own. `deque.pml` checks that owner and thieves do
// not take the same child.
//
// LOAD_AND_STORE    a thief reads `away` and then stores one less: two steps instead of a read-modify-write
// NOTHING_ADDED     the worker in place goes on with the parent if no child is left in the deque
// ADDED_FIRST       it adds all children before it begins, and subtracts those that it ran itself one by one,
//                   unasked
// RESULT_LATER      a thief's arrival is no release: the result may come after it (tag *joined* weakened)
// DROPPED_AT_ONCE   a thief that drops a child drops the parent, and its frame with the other children's
// DROPPED_UNSAID    a thief that drops a child does not say so: the last one goes on with the parent
// NOT_IN_FRONT      the child in place is not put into the list when it is dropped
// LISTED_LATER      it is put there after it has come

#ifndef CHILDREN
#define CHILDREN 3
#endif
#define FORKED (CHILDREN - 1)

bool taken[FORKED];  // from the deque; 0 is the newest
bool ended[CHILDREN]; // with its result; the last one is the first child
short away;
bool discarded;
bool destroyed; // the parent's frame, and the children's
byte resumed;
byte unrun; // children that were dropped
bool dropped[CHILDREN]; // which; the last one is the one in place
byte next;      // of the forked children: the list begins with it
bool in_front;  // the child in place stands before it

inline touch() { assert(!destroyed) }

inline last_has_come(said) {
  if
  :: said ->
    assert(!destroyed);
    assert(!dropped[FORKED] || in_front);
    for (i : 0 .. FORKED - 1) { assert(!dropped[i] || i >= next) }
    destroyed = 1
  :: else ->
    assert(unrun == 0);
    resumed++;
    assert(resumed == 1);
    for (i : 0 .. CHILDREN - 1) { assert(ended[i]) }
    destroyed = 1 // the parent goes on, and its children's frames end
  fi
}

active proctype in_place() {
  byte i;
  short left = FORKED;
  bool last, took, drops;
#ifdef ADDED_FIRST
  away = away + left;
#endif
  ended[FORKED] = 1;
  do
  :: left > 0 ->
    took = 0;
    d_step {
      if
      :: !taken[next] -> taken[next] = 1; took = 1
      :: else
      fi
    }
    if
    :: took ->
      touch();
      ended[next] = 1;
      next++;
      left--;
#ifdef ADDED_FIRST
      away--
#endif
    :: else -> break
    fi
  :: break // others are due, or it went on elsewhere
  od;
#ifdef DROPS
  if
  :: drops = 1; // the child that ran last was suspended before its end
    unrun++;
    dropped[FORKED] = 1;
    discarded = 1;
#if !defined(NOT_IN_FRONT) && !defined(LISTED_LATER)
    in_front = 1
#endif
  :: skip
  fi;
#endif
#ifdef NOTHING_ADDED
  last = 1;
  for (i : 0 .. FORKED - 1) { last = last && taken[i] }
#else
#ifdef ADDED_FIRST
  last = away == 0;
#else
  if
  :: left == 0 -> last = 1
  :: else -> d_step { touch(); last = away == -left; away = away + left }
  fi;
#endif
#endif
#ifdef LISTED_LATER
  in_front = drops;
#endif
  if
  :: last -> last_has_come(discarded)
  :: else
  fi
}

active [2] proctype thief() {
  byte mine, i;
  short before;
  bool last, drops;
end:
  do
  :: d_step {
      !(taken[0]
#if FORKED > 1
      && taken[1]
#endif
#if FORKED > 2
      && taken[2]
#endif
      ) ->
      mine = FORKED - 1;
      do
      :: taken[mine] -> mine--
      :: else -> break
      od;
      taken[mine] = 1
    }
    touch();
    drops = 0;
#ifdef DROPS
    if
    :: drops = 1
    :: skip
    fi;
#endif
    if
    :: drops ->
      unrun++;
      dropped[mine] = 1;
#ifndef DROPPED_UNSAID
      discarded = 1;
#endif
#ifdef DROPPED_AT_ONCE
      destroyed = 1;
#endif
    :: else ->
#ifndef RESULT_LATER
      ended[mine] = 1;
#endif
      skip
    fi;
#ifdef LOAD_AND_STORE
    touch();
    before = away;
    away = before - 1;
#else
    d_step { touch(); before = away; away-- }
#endif
#ifdef RESULT_LATER
    ended[mine] = 1;
#endif
    last = before == 1;
    if
    :: last -> last_has_come(discarded)
    :: else
    fi
  od
}

active proctype monitor() {
  timeout -> assert(destroyed)
}

// A task that waits for the calls that it has forked (engine/include/corewise/engine/blocking_scope.hpp;
// coroutines/blocking_scope.cpp: join, sleep; child_run::end).
//
// check: pass
// check: pass -DCHILDREN=4 -DTHIEVES=3
// check: fail -DLOAD_AND_STORE
// check: fail -DTAKEN_OFF_LATER
// check: fail -DNOT_TAKEN_OFF
// check: fail -DWAKE_FIRST
// check: fail -DSLEEP_UNASKED
// check: fail -DRESULT_LATER
// check: fail -DTOUCH_AFTER
// check: fail -DNOT_RESET
//
// The waiter forks some children, runs as many of them in place as it likes or can get, looks whether the
// others have arrived, and sleeps. Then it does all that once more with the same scope, and destroys it. The
// thieves run the others. `deque.pml` checks that each child is taken once; the work of a call reaches the
// waiter only with the arrival.
//
// LOAD_AND_STORE    a child reads `arrived` and then stores one more: two steps instead of a
//                   read-modify-write
// TAKEN_OFF_LATER   the waiter reads `arrived` and then stores what is left: two steps instead of one
// NOT_TAKEN_OFF     it sleeps without taking off what it waits for, so that no child is the last
// WAKE_FIRST        a child wakes before it has arrived
// SLEEP_UNASKED     it falls asleep whatever value `arrived` has: a thread's sleep instead of a futex's
// RESULT_LATER      the arrival is no release: the result may come after it (tag *arrived* weakened)
// TOUCH_AFTER       a child takes itself out of the scope's list after it has arrived
// NOT_RESET         a waiter that has found all arrived forks again without a look at the count

#ifndef CHILDREN
#define CHILDREN 3
#endif
#ifndef THIEVES
#define THIEVES 2
#endif

byte available; // in the deque
short arrived;
byte forked;    // in all
byte results;   // that can be seen
bool asleep;
bool destroyed; // the scope

inline touch() { assert(!destroyed) }

active proctype waiter() {
  byte round;
  short left, now;
  do
  :: round < 2 ->
    do
    :: left < CHILDREN -> left++; forked++; available++
    :: left == CHILDREN -> break
    od;
    do // run_own, unless it loses its worker
    :: d_step { available > 0 -> available-- }
      results++;
      left--
    :: break
    od;
    if
    :: left == 0 -> skip
    :: left != 0 && arrived == left -> // help_thieves
      left = 0;
#ifndef NOT_RESET
      arrived = 0;
#endif
    :: left != 0 -> // sleep
#ifdef NOT_TAKEN_OFF
      now = arrived - left;
#else
#ifdef TAKEN_OFF_LATER
      now = arrived - left;
      arrived = now;
#else
      d_step { arrived = arrived - left; now = arrived }
#endif
#endif
      do
      :: now == 0 -> break
      :: else ->
#ifdef SLEEP_UNASKED
        asleep = 1;
#else
        d_step {
          if
          :: arrived == now -> asleep = 1
          :: else
          fi
        }
#endif
        !asleep;
        now = arrived
      od;
      left = 0
    fi;
    assert(results == forked);
    round++
  :: else -> break
  od;
  destroyed = 1
}

active [THIEVES] proctype thief() {
  bool last;
  short before;
end:
  do
  :: d_step { available > 0 -> available-- }
    touch();
#ifndef RESULT_LATER
    results++;
#endif
#ifdef WAKE_FIRST
    last = arrived == -1;
    if
    :: last -> asleep = 0
    :: else
    fi;
#endif
#ifdef LOAD_AND_STORE
    touch();
    before = arrived;
    arrived = before + 1;
#else
    d_step { touch(); before = arrived; arrived++ }
#endif
#ifdef RESULT_LATER
    results++;
#endif
#ifdef TOUCH_AFTER
    touch();
#endif
#ifndef WAKE_FIRST
    if
    :: before == -1 -> asleep = 0 // the kernel is told the address, whatever lies there now
    :: else
    fi;
#endif
    last = 0;
    before = 0
  od
}

active proctype monitor() {
  timeout -> assert(destroyed)
}

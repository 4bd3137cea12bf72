// The lock of a word, and the threads that sleep until it is free
// (engine/include/corewise/engine/detail/lock_word.hpp, engine/src/coroutines/lock_word.cpp).
//
// check: pass
// check: pass -DTHREADS=3
// check: fail -DTHREADS=3 -DNO_MARK_AFTER_SLEEP
// check: fail -DTHREADS=3 -DUNLOCK_APART
// check: fail -DSLEEP_UNCHECKED
//
// Each thread locks ROUNDS times. `futex_wait` sleeps only if the word has the value that it is given; a
// sleeper may wake up for no reason, but in the end does not.
//
// NO_MARK_AFTER_SLEEP   a thread that has slept takes the lock as one that has not: other sleepers are
//                       forgotten
// UNLOCK_APART          unlock asks whether a thread sleeps and then stores: two steps instead of an exchange
// SLEEP_UNCHECKED       it sleeps whatever value the word has by then

#ifndef THREADS
#define THREADS 2
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif

bool locked, sleepers;
bool asleep[THREADS];
byte holders;
byte ended;

inline wake_one() {
  atomic {
    if
    :: asleep[0] -> asleep[0] = 0
    :: asleep[1] -> asleep[1] = 0
#if THREADS > 2
    :: asleep[2] -> asleep[2] = 0
#endif
    :: else
    fi
  }
}

proctype thread(byte me) {
  bool mine, has_slept, marked;
  byte round;
  for (round : 1 .. ROUNDS) {
    mine = 0;
    has_slept = 0;
    do
    :: !mine ->
      d_step { // a compare-and-swap: lock, or lock_held once it has slept
        if
        :: !locked ->
          locked = 1;
          mine = 1;
#ifndef NO_MARK_AFTER_SLEEP
          sleepers = sleepers || has_slept
#endif
        :: else
        fi
      }
      if
      :: mine
      :: else ->
        has_slept = 1; // from here on in lock_held
        d_step {
          marked = locked;
          if
          :: locked -> sleepers = 1
          :: else
          fi
        }
        if
        :: marked ->
#ifdef SLEEP_UNCHECKED
          asleep[me] = 1;
#else
          d_step { // futex_wait
            if
            :: locked && sleepers -> asleep[me] = 1
            :: else
            fi
          }
#endif
          !asleep[me]
        :: else
        fi
      fi
    :: mine -> break
    od;
    holders++;
    assert(holders == 1);
    holders--;
#ifdef UNLOCK_APART
    d_step { marked = sleepers }
    d_step { locked = 0; sleepers = 0 }
#else
    d_step { marked = sleepers; locked = 0; sleepers = 0 } // the exchange
#endif
    if
    :: marked -> wake_one()
    :: else
    fi
  }
  ended++
}

init {
  byte i;
  atomic {
    for (i : 1 .. THREADS) { run thread(i - 1) }
    i = 0
  }
}

active proctype monitor() {
  timeout -> assert(ended == THREADS)
}

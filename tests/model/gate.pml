// A latch in the frame of a coroutine that waits for it. The frame is destroyed as soon as all waiters have
// gone on (engine/include/corewise/engine/detail/gate.hpp, lock_word.hpp).
//
// check: pass
// check: pass -DALONE
// check: pass -DSTOP_ONE
// check: fail -DSTOP_ONE -DUNLOCK_LATER
// check: fail -DWAKE_LOCKED
// check: fail -DCOUNT_BLIND
// check: fail -DCOUNT_APART
// check: fail -DENTER_BLIND
// check: fail -DENTER_LATER
// check: fail -DNOTE_LATER
//
// Two threads count down from 2; two coroutines wait, with ALONE one, and with STOP_ONE the second finds that
// it was stopped when it enters. The coroutine that goes on last destroys the latch. The word is `left`,
// `waiting` and `locked`; a compare-and-swap is one step that asks for all three. `noted` is what a counter
// did before, which reaches other threads with a release: a step of its own.
//
// UNLOCK_LATER   the number is published first, and the lock given back in a second step
// WAKE_LOCKED    the waiters are woken before the lock is given back
// COUNT_BLIND    a thread that counts down to 0 does not ask whether a coroutine waits
// COUNT_APART    a thread that counts down reads the number and then stores one less: two steps instead of a
//                compare-and-swap
// ENTER_BLIND    enter does not look at the number again when it has the lock
// ENTER_LATER    enter looks at the number, and locks then
// NOTE_LATER     counting is no release: the counter's work before it may become visible after it (tag *word*
//                weakened)

#ifdef ALONE
#define WAITERS 1
#else
#define WAITERS 2
#endif

byte left = 2;
bool waiting, locked, destroyed;
byte in_list;        // a set of coroutines
byte noted;
bool frame[3], runnable[3];
byte resumed[3];
byte gone_on;

inline touch() { assert(!destroyed) }
inline lock() { atomic { !locked -> touch(); locked = 1 } }
inline unlock(n) {
#ifdef UNLOCK_LATER
  d_step { touch(); left = n; waiting = in_list != 0 }
  d_step { touch(); locked = 0 }
#else
  d_step { touch(); left = n; waiting = in_list != 0; locked = 0 }
#endif
}

inline wake_all(all) {
  if
  :: all & 1 -> d_step { assert(frame[1] && !runnable[1] && resumed[1] == 0); runnable[1] = 1 }
  :: else
  fi;
  if
  :: all & 2 -> d_step { assert(frame[2] && !runnable[2] && resumed[2] == 0); runnable[2] = 1 }
  :: else
  fi
}

active [2] proctype counter() {
  byte all, seen;
  bool fast;
#ifndef NOTE_LATER
  noted++;
#endif
#ifdef COUNT_APART
  d_step { touch(); seen = left; fast = !locked && !(seen == 1 && waiting) }
  if
  :: fast -> d_step { touch(); left = seen - 1 }
#else
  d_step {
    touch();
#ifdef COUNT_BLIND
    fast = !locked;
#else
    fast = !locked && !(left == 1 && waiting);
#endif
    if
    :: fast -> left--
    :: else
    fi
  }
  if
  :: fast
#endif
  :: else ->
    lock();
    d_step {
      if
      :: left == 1 -> all = in_list; in_list = 0
      :: else
      fi
    }
#ifdef WAKE_LOCKED
    wake_all(all);
#endif
    unlock(left - 1);
#ifndef WAKE_LOCKED
    wake_all(all)
#endif
  fi
#ifdef NOTE_LATER
  ;
  noted++
#endif
}

inline go_on() {
#ifndef STOP_ONE
  assert(noted == 2);
#endif
  assert(!destroyed);
  d_step { gone_on++; destroyed = gone_on == WAITERS }
}

proctype coroutine(byte me) {
  bool open;
  d_step { touch(); open = left == 0 } // await_ready
  if
  :: open -> go_on()
  :: else ->
    frame[me] = 1;
#ifdef ENTER_LATER
    open = left == 0;
    lock();
#else
    lock();
#ifndef ENTER_BLIND
    open = left == 0;
#endif
#endif
    if
#ifdef STOP_ONE
    :: open || me == 2 -> unlock(left); frame[me] = 0; go_on()
#else
    :: open -> unlock(left); frame[me] = 0; go_on()
#endif
    :: else -> in_list = in_list | me; unlock(left)
    fi
  fi
}

proctype worker(byte w) {
end:
  do
  :: d_step { runnable[w] -> runnable[w] = 0; resumed[w]++ }
    assert(resumed[w] == 1 && frame[w]);
    frame[w] = 0;
    go_on()
  od
}

init {
  byte i;
  atomic {
    for (i : 1 .. WAITERS) { run coroutine(i); run worker(i) }
    i = 0
  }
}

active proctype monitor() {
  timeout -> assert(gone_on == WAITERS)
}

// A future: one value, or none, for a thread or a coroutine (engine/include/corewise/engine/future.hpp;
// future.cpp).
//
// check: pass
// check: fail -DLOAD_AND_STORE
// check: fail -DSTORE_IF_EMPTY
// check: fail -DVALUE_LATER
// check: fail -DWAKE_FIRST
// check: fail -DMARK_LEFT
// check: fail -DWITHDRAW_STORES
// check: fail -DLET_GO_EARLY
// check: fail -DCOUNT_IN_TWO
// check: pass -DCOROUTINE
// check: fail -DCOROUTINE -DLOAD_AND_STORE
// check: fail -DCOROUTINE -DSTORE_IF_EMPTY
// check: fail -DCOROUTINE -DVALUE_LATER
// check: fail -DCOROUTINE -DFRAME_LATER
// check: fail -DCOROUTINE -DWITHDRAW_STORES
// check: fail -DCOROUTINE -DDESTROYED_UNASKED
//
// The work settles the state that it shares with the future, and lets go of it; so does the future, and the
// last of the two frees it. The future is a thread's, which asks whether it is ready, sleeps for a limited
// time, and then sleeps for as long as it takes or gives up. Stores to the value and to the frame reach other
// threads only with a release: each is a step of its own, and the thread that acquires looks at it.
//
// LOAD_AND_STORE   settle reads the state and then stores `settled`: two steps instead of an exchange
// STORE_IF_EMPTY   the waiter reads the state and then stores itself: two steps instead of a compare-and-swap
// VALUE_LATER      settle's exchange is no release: the value may come after it (tag *settled* weakened)
// WAKE_FIRST       settle wakes the sleeper and only then stores that it is done
// MARK_LEFT        a waiter whose time is over leaves its mark there
// WITHDRAW_STORES  a waiter whose time is over reads the state and then stores that no one waits: two steps
//                  instead of a CAS
// LET_GO_EARLY     the work lets go as soon as the state says that it is settled
// COUNT_IN_TWO     the one that lets go reads the count and then stores it
//
// With COROUTINE the future is a coroutine's, which is suspended; a worker resumes it when it was woken. Its
// engine may end meanwhile and take it out of there, as in suspended.pml.
//
// FRAME_LATER        the waiter's compare-and-swap is no release: the frame may be noted after it (tag
//                    *waits* weakened)
// DESTROYED_UNASKED  the end destroys the suspended coroutine without taking it out of there

mtype = { NOBODY, SETTLED, SLEEPER, WAITING };
mtype state = NOBODY;
bool value;     // it is there
bool told;      // `done_`, the word that a thread sleeps on
bool asleep;    // the thread, in the kernel
byte users = 2;
byte freed;
bool over;      // the future has gone

inline touch() { assert(freed == 0) }

// release, and the end of the last
inline let_go() {
#ifdef COUNT_IN_TWO
  seen = users;
  users = seen - 1;
#else
  d_step { touch(); seen = users; users = seen - 1 }
#endif
  if
  :: seen == 1 -> freed++; assert(freed == 1)
  :: else
  fi
}

// the compare-and-swap from no waiter to the waiter
inline wait_as(who) {
#ifdef STORE_IF_EMPTY
  won = state == NOBODY;
  if
  :: won -> state = who
  :: else
  fi
#else
  d_step {
    touch();
    won = state == NOBODY;
    if
    :: won -> state = who
    :: else
    fi
  }
#endif
}

// the compare-and-swap back
inline withdraw(who) {
#ifdef WITHDRAW_STORES
  won = state == who;
  if
  :: won -> state = NOBODY
  :: else
  fi
#else
  d_step {
    touch();
    won = state == who;
    if
    :: won -> state = NOBODY
    :: else
    fi
  }
#endif
}

#ifdef COROUTINE

bool frame;     // the coroutine is suspended, and noted where
bool queued;    // its resumption is in a queue
bool destroyed; // its frame

// await_resume, and the end of the frame, with its future
inline go_on() {
  d_step { assert(!destroyed && !over); frame = 0 }
  assert(value);
  over = 1;
  let_go()
}

active proctype holder() {
  byte seen;
  bool ready, won;
  d_step { touch(); ready = state == SETTLED } // await_ready
  if
  :: ready -> go_on()
  :: else ->
#ifndef FRAME_LATER
    frame = 1; // suspension::suspend
#endif
    wait_as(WAITING);
#ifdef FRAME_LATER
    frame = 1;
#endif
    if
    :: won // suspended: the worker that has the resumption goes on
    :: else -> go_on()
    fi
  fi
}

// A worker that takes the resumption from the queue
active proctype worker() {
  byte seen;
end:
  do
  :: d_step { queued -> queued = 0 }
    assert(frame);
    go_on()
  od
}

// The engine's end. It finds the coroutine by its entry in the table (suspended.pml).
active proctype engine_end() {
  byte seen;
  bool won;
end_unsuspended:
#ifdef DESTROYED_UNASKED
  d_step { frame -> won = 1 }
#else
#ifdef WITHDRAW_STORES
  d_step { frame -> won = state == WAITING }
  if
  :: won -> state = NOBODY
  :: else
  fi;
#else
  d_step {
    frame -> touch();
    won = state == WAITING;
    if
    :: won -> state = NOBODY
    :: else
    fi
  }
#endif
#endif
  if
  :: won -> destroyed = 1; frame = 0; assert(!over); over = 1; let_go()
  :: else // the thread that settles it wakes it
  fi
}

#else

// wait: `answer` is whether it is settled
inline wait(limited) {
  d_step { touch(); answer = state == SETTLED }
  if
  :: answer
  :: else ->
    wait_as(SLEEPER);
    if
    :: !won -> answer = 1
    :: else ->
      do
      :: d_step { told -> skip }; break
      :: d_step { !told -> touch(); asleep = 1 }; // the kernel compares, and puts it to sleep
        if
        :: !asleep
        :: limited -> asleep = 0; break
        fi
      od;
#ifdef MARK_LEFT
      answer = state == SETTLED
#else
      withdraw(SLEEPER);
      answer = !won
#endif
    fi
  fi
}

active proctype holder() {
  byte seen;
  bool answer, won;
  wait(1);
  if
  :: answer
  :: !answer -> wait(0); assert(answer)
  :: !answer // gives up
  fi;
  if
  :: answer -> touch(); assert(value) // take
  :: else
  fi;
  over = 1;
  let_go()
}

#endif

active proctype work() {
  byte seen;
  mtype before;
#ifndef VALUE_LATER
  d_step { touch(); value = 1 }
#endif
#ifdef LOAD_AND_STORE
  before = state;
  state = SETTLED;
#else
  d_step { touch(); before = state; state = SETTLED }
#endif
#ifdef VALUE_LATER
  d_step { touch(); value = 1 }
#endif
#ifdef LET_GO_EARLY
  let_go();
#endif
  if
#ifdef COROUTINE
  :: before == WAITING ->
    assert(frame && !queued && !destroyed); // else: a coroutine that still runs, or is gone, is resumed
    queued = 1
#else
  :: before == SLEEPER ->
#ifdef WAKE_FIRST
    asleep = 0;
    d_step { touch(); told = 1 }
#else
    d_step { touch(); told = 1 }
    asleep = 0
#endif
#endif
  :: else
  fi;
#ifndef LET_GO_EARLY
  let_go();
#endif
}

active proctype monitor() {
  timeout -> assert(over && freed == 1)
}

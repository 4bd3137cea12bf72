// One value handed to one coroutine (engine/include/corewise/engine/detail/oneshot_word.hpp; resumption.cpp: wake).
//
// check: pass
// check: fail -DLOAD_AND_STORE
// check: fail -DSTORE_IF_EMPTY
// check: fail -DVALUE_LATER
// check: fail -DFRAME_LATER
// check: fail -DTOUCH_AFTER
// check: pass -DSTOP
// check: fail -DSTOP -DSTOP_UNMARKED
// check: fail -DSTOP -DSTOP_STORES
// check: fail -DSTOP -DMARK_LEFT
//
// One worker runs the coroutine that receives; when it is suspended, another worker may resume it as soon as
// it was woken. When the coroutine has its value it destroys the oneshot. Stores to the value and to the
// frame reach other threads only with a release: each is a step of its own, and the thread that acquires
// looks at it.
//
// LOAD_AND_STORE   send reads the state and then stores `sent`: two steps instead of an exchange
// STORE_IF_EMPTY   receive reads the state and then stores the waiter: two steps instead of a
//                  compare-and-swap
// VALUE_LATER      send's exchange is no release: the value may come after it (tag *sent* weakened)
// FRAME_LATER      receive's compare-and-swap is no release: the frame may be noted after it (tag *wait*
//                  weakened)
// TOUCH_AFTER      send looks at the oneshot once more before it wakes the waiter
//
// With STOP a stop comes during the receive, and perhaps the value only after that; then the coroutine
// receives again.
//
// STOP_UNMARKED    a stop that comes before its coroutine waits leaves no mark
// STOP_STORES      a stop reads the state and then stores that no coroutine waits: two steps instead of a
//                  compare-and-swap
// MARK_LEFT        a coroutine that was stopped leaves the mark there

mtype = { EMPTY, SENT, WAITING, STOPPED };
mtype state = EMPTY;
bool value;     // it is there
bool frame;     // the coroutine is suspended, and noted where
bool destroyed; // the oneshot
bool queued;    // the resumption is in a queue
byte resumed;   // how often
bool received;
bool registered, stopping; // a stop may come; its callback runs
bool ended;                // the first receive, if it may be stopped
bool again;                // it is received again

inline touch() { assert(!destroyed) }

// await_resume, and the end of the oneshot's owner
inline take_value() {
  assert(value && !destroyed);
  assert(!received);
  received = 1;
  destroyed = 1
}

// await_resume; first ~stop_callback waits for the callback
inline go_on() {
#ifdef STOP
  d_step { registered = 0; ended = 1 }
  !stopping;
#ifndef MARK_LEFT
  d_step {
    touch();
    if
    :: state == STOPPED -> state = EMPTY
    :: else
    fi
  }
#endif
  touch();
  if
  :: state == SENT -> take_value()
  :: else -> assert(!again); again = 1; run receiver(0)
  fi
#else
  take_value()
#endif
}

active proctype sender() {
  mtype before;
#ifdef STOP
  bool late;
  if
  :: late = 1
  :: skip
  fi;
  !late || ended;
#endif
#ifndef VALUE_LATER
  value = 1;
#endif
#ifdef LOAD_AND_STORE
  before = state;
  state = SENT;
#else
  d_step { touch(); before = state; state = SENT }
#endif
#ifdef VALUE_LATER
  value = 1;
#endif
#ifdef TOUCH_AFTER
  touch();
#endif
  if
  :: before == WAITING ->
    assert(frame && !queued); // else: a coroutine that still runs is resumed
    queued = 1     // resumption::wake: the waiter's frame is alive, for only this wakes it
  :: else
  fi
}

proctype receiver(bool stoppable) {
  bool ready, won;
  touch();
  ready = state == SENT; // await_ready
  if
  :: ready -> take_value()
  :: else ->
#ifndef FRAME_LATER
    frame = 1; // resumption::suspend
#endif
    registered = stoppable;
#ifdef STORE_IF_EMPTY
    won = state == EMPTY;
    if
    :: won -> state = WAITING
    :: else
    fi;
#else
    d_step {
      touch();
      won = state == EMPTY;
      if
      :: won -> state = WAITING
      :: else
      fi
    }
#endif
#ifdef FRAME_LATER
    frame = 1;
#endif
    if
    :: won // suspended: the worker that has the resumption goes on
    :: else ->
#ifndef STOP
      assert(state == SENT);
#endif
      frame = 0;
      go_on()
    fi
  fi
}

init {
#ifdef STOP
  run receiver(1)
#else
  run receiver(0)
#endif
}

#ifdef STOP
active proctype stop() {
  bool was_in, was_empty;
end_unstopped:
  d_step { registered -> registered = 0; stopping = 1 }
#ifndef STOP_UNMARKED
  d_step {
    touch();
    was_empty = state == EMPTY;
    if
    :: was_empty -> state = STOPPED
    :: else
    fi
  }
#endif
  if
  :: was_empty
  :: else ->
#ifdef STOP_STORES
    was_in = state == WAITING;
    if
    :: was_in -> state = EMPTY
    :: else
    fi;
#else
    d_step {
      touch();
      was_in = state == WAITING;
      if
      :: was_in -> state = EMPTY
      :: else
      fi
    }
#endif
    if
    :: was_in -> assert(frame && !queued); queued = 1
    :: else
    fi
  fi;
  stopping = 0
}
#endif

// A worker that takes the resumption from the queue
active proctype worker() {
end:
  do
  :: d_step { queued -> queued = 0; resumed++ }
    assert(frame);
#ifndef STOP
    assert(resumed == 1);
#endif
    frame = 0;
    go_on()
  od
}

active proctype monitor() {
  timeout -> assert(received)
}

// One value handed to one coroutine (engine/include/corewise/engine/oneshot.hpp; resumption.cpp: wake).
//
// check: pass
// check: fail -DLOAD_AND_STORE
// check: fail -DSTORE_IF_EMPTY
// check: fail -DVALUE_LATER
// check: fail -DFRAME_LATER
// check: fail -DTOUCH_AFTER
//
// The coroutine that receives is run by one worker; when it is suspended, another may resume it as soon as it was woken.
// When it has its value it destroys the oneshot. Stores to the value and to the frame reach other threads only with a
// release: each is a step of its own, and is looked at by whoever acquires.
//
// LOAD_AND_STORE   send reads the state and then stores `sent`: two steps instead of an exchange
// STORE_IF_EMPTY   receive reads the state and then stores the waiter: two steps instead of a compare-and-swap
// VALUE_LATER      send's exchange is no release: the value may come after it (tag *sent* weakened)
// FRAME_LATER      receive's compare-and-swap is no release: the frame may be noted after it (tag *wait* weakened)
// TOUCH_AFTER      send looks at the oneshot once more before it wakes the waiter

mtype = { EMPTY, SENT, WAITING };
mtype state = EMPTY;
bool value;     // it is there
bool frame;     // the coroutine is suspended, and noted where
bool destroyed; // the oneshot
bool queued;    // the resumption is in a queue
byte resumed;   // how often
bool received;

inline touch() { assert(!destroyed) }

// await_resume, and the end of whoever owned the oneshot
inline take_value() {
  assert(value && !destroyed);
  assert(!received);
  received = 1;
  destroyed = 1
}

active proctype sender() {
  mtype before;
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
    assert(frame); // else: a coroutine that still runs is resumed
    queued = 1     // resumption::wake: the waiter's frame is alive, for only this wakes it
  :: else
  fi
}

active proctype receiver() {
  bool ready, won;
  touch();
  ready = state == SENT; // await_ready
  if
  :: ready -> take_value()
  :: else ->
#ifndef FRAME_LATER
    frame = 1; // resumption::suspend
#endif
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
    :: won // suspended: whoever has the resumption goes on
    :: else -> frame = 0; take_value()
    fi
  fi
}

// A worker that takes the resumption from the queue
active proctype worker() {
end:
  do
  :: d_step { queued -> queued = 0; resumed++ }
    assert(resumed == 1 && frame);
    frame = 0;
    take_value()
  od
}

active proctype monitor() {
  timeout -> assert(received)
}

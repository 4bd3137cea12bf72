// The two halves of a oneshot, which share a block
// (engine/include/corewise/engine/oneshot.hpp, detail/oneshot_word.hpp; suspended_table.cpp: withdraw).
//
// check: pass
// check: fail -DFREES_UNASKED
// check: fail -DLOOKS_THEN_LEAVES
// check: fail -DTOUCH_AFTER
// check: fail -DNOT_WITHDRAWN
// check: fail -DLEFT_TO_SENDER
// check: fail -DVALUE_LATER
//
// The sender sends, or goes unused. The receiver waits, or goes before it has waited. The engine of a
// receiver that waits may end: it withdraws the coroutine and destroys its frame, and with it the receiver.
// A coroutine that was woken goes on, or is destroyed with the queued tasks. The block is freed once, and no
// half touches it afterwards.
//
// FREES_UNASKED       a receiver that goes frees the block, and does not ask whether the sender is through
// LOOKS_THEN_LEAVES   it reads the word and then stores that it has gone: two steps instead of an exchange
// TOUCH_AFTER         the sender looks at the block once more after its exchange
// NOT_WITHDRAWN       the engine's end destroys the frame without taking the waiter out of the word
// LEFT_TO_SENDER      a receiver that has its value leaves the block to the sender
// VALUE_LATER         the sender's exchange is no release: the value may come after it (tag *sent* weakened)

mtype = { EMPTY, SENT, WAITING, GONE };
mtype word = EMPTY;
bool value;   // it is there
bool unused;  // the sender goes without sending
bool queued;  // the coroutine was woken
bool frame = 1;
byte freed;

inline touch() { assert(freed == 0) }
inline free_block() { touch(); freed++ }

// The receiver's destructor
inline leave() {
#ifdef FREES_UNASKED
  free_block();
#else
#ifdef LOOKS_THEN_LEAVES
  touch();
  left = word;
  touch();
  word = GONE;
#else
  d_step { touch(); left = word; word = GONE }
#endif
  if
  :: left == SENT -> free_block()
  :: else
  fi;
#endif
  frame = 0
}

// await_resume: the value or the exception; the sender is through
inline take_value() {
  touch();
  assert(value || unused);
#ifndef LEFT_TO_SENDER
  free_block();
#endif
  frame = 0
}

active proctype sender() {
  mtype before;
  if
  :: unused = 1
  :: skip
  fi;
#ifndef VALUE_LATER
  if
  :: !unused -> touch(); value = 1
  :: else
  fi;
#endif
  d_step { touch(); before = word; word = SENT }
#ifdef VALUE_LATER
  if
  :: !unused -> value = 1
  :: else
  fi;
#endif
#ifdef TOUCH_AFTER
  touch();
#endif
  if
  :: before == WAITING -> assert(frame && !queued); queued = 1
  :: before == GONE -> free_block()
  :: else
  fi
}

active proctype receiver() {
  mtype left;
  bool won;
  if
  :: leave() // it never waits
  :: d_step {
      touch();
      won = word == EMPTY;
      if
      :: won -> word = WAITING
      :: else
      fi
    }
    if
    :: !won -> take_value()
    :: else ->
      if
      :: queued -> // a worker resumes it, or the end destroys it with the queued tasks
        if
        :: take_value()
        :: leave()
        fi
      :: true -> // the engine ends
#ifdef NOT_WITHDRAWN
        leave()
#else
        d_step {
          touch();
          won = word == WAITING;
          if
          :: won -> word = EMPTY
          :: else
          fi
        }
        if
        :: won -> leave()
        :: else -> queued; leave()
        fi
#endif
      fi
    fi
  fi
}

active proctype monitor() {
  timeout -> assert(freed == 1 && !frame)
}

// Permits, the coroutines that wait for one, and stops (engine/include/corewise/engine/detail/permits.hpp,
// awaiting.hpp, waiter_list.hpp).
//
// check: pass
// check: pass -DRELEASERS=2
// check: pass -DAGAIN
// check: fail -DRELEASE_BLIND
// check: fail -DENTER_BLIND
// check: fail -DGRANT_UNLOCKED
// check: fail -DSTOP_BLIND
// check: fail -DSTOP_UNNOTED
// check: fail -DSTOP_UNLOCKED
// check: fail -DSTOP_LATE
// check: fail -DLEAVE_ALL
// check: fail -DHAND_AND_LEAVE
// check: fail -DRELEASERS=2 -DWAKE_TWICE
//
// Two coroutines acquire, each with a stop that may come at any time; RELEASERS threads release one permit
// each. A worker resumes a suspended coroutine as soon as it was woken. With AGAIN a coroutine that has got
// its permit gives it back. The word is `number`, `waiting` and `locked`; a compare-and-swap is one step that
// asks for all three. A stop comes through `registered`, and its callback has ended before the coroutine goes
// on (std::stop_callback).
//
// RELEASE_BLIND   release adds to the number without asking whether a coroutine waits
// ENTER_BLIND     enter does not look at the number again when it has the lock
// GRANT_UNLOCKED  enter notes that it got a permit when it has unlocked
// STOP_BLIND      a stop wakes its coroutine without asking whether it still waits
// STOP_UNNOTED    a stop that comes before its coroutine has entered leaves no trace
// STOP_UNLOCKED   a stop asks whether its coroutine waits before it has the lock
// STOP_LATE       the stop is registered when the coroutine is in the list already, and may be resumed
// LEAVE_ALL       a coroutine that leaves the list says that no other waits any more
// HAND_AND_LEAVE  release hands a permit to a waiter, and also leaves it in the number
// WAKE_TWICE      release wakes the coroutine that waits longest, and leaves it in the list

#ifndef RELEASERS
#define RELEASERS 1
#endif

mtype = { IDLE, QUEUED, GRANTED, STOPPED };

byte number;
bool waiting, locked;

byte line[3]; // the waiting coroutines, in order: 1 and 2; 0: none
mtype state[3] = IDLE;
bool frame[3];      // it is suspended, and noted where
bool runnable[3];   // its resumption is in a queue
byte resumed[3];
bool registered[3]; // a stop may come
bool stopping[3];   // its callback runs
bool was_stopped[3];
bool ended[3];
byte got;
byte given;

inline lock() { atomic { !locked -> locked = 1 } }
// lock_word::unlock: one exchange
inline unlock(n) { d_step { assert(locked); number = n; waiting = line[0] != 0; locked = 0 } }

inline push(w) {
  d_step {
    if
    :: line[0] == 0 -> line[0] = w
    :: else -> line[1] = w
    fi;
    state[w] = QUEUED
  }
}
inline pop(w, gets) {
  d_step {
    w = line[0];
    line[0] = line[1];
    line[1] = 0;
    if
    :: w != 0 -> state[w] = gets
    :: else
    fi
  }
}
inline remove(w) {
  d_step {
    if
    :: line[0] == w -> line[0] = line[1]; line[1] = 0
    :: else -> assert(line[1] == w); line[1] = 0
    fi
  }
}
inline wake(w) {
  d_step { assert(frame[w] && !runnable[w] && resumed[w] == 0); runnable[w] = 1 }
}

inline give() {
  byte next;
  bool fast;
  d_step {
#ifdef RELEASE_BLIND
    fast = !locked;
#else
    fast = !locked && !waiting;
#endif
    if
    :: fast -> number++
    :: else
    fi
  }
  if
  :: fast
  :: else ->
    lock();
#ifdef WAKE_TWICE
    next = line[0];
    if
    :: next != 0 -> state[next] = GRANTED
    :: else
    fi;
#else
    pop(next, GRANTED);
#endif
#ifdef HAND_AND_LEAVE
    unlock(number + 1);
#else
    unlock(number + (next == 0 -> 1 : 0));
#endif
    if
    :: next != 0 -> wake(next)
    :: else
    fi
  fi;
  next = 0
}

// await_resume: ~stop_callback waits for the callback
inline go_on(w) {
  d_step { registered[w] = 0 }
  !stopping[w];
  if
  :: state[w] == GRANTED ->
    got++;
#ifdef AGAIN
    got--;
    give();
#endif
  :: else -> assert(state[w] == STOPPED)
  fi;
  ended[w] = 1
}

proctype coroutine(byte me) {
  bool passed, waits;
  d_step { // try_take
    passed = !locked && number > 0;
    if
    :: passed -> number--; state[me] = GRANTED
    :: else
    fi
  }
  if
  :: passed
  :: else ->
    frame[me] = 1; // resumption::suspend
#ifndef STOP_LATE
    registered[me] = 1;
#endif
    lock(); // enter
    if
    :: state[me] == STOPPED -> unlock(number)
#ifndef ENTER_BLIND
#ifdef GRANT_UNLOCKED
    :: state[me] != STOPPED && number > 0 -> unlock(number - 1); state[me] = GRANTED
#else
    :: state[me] != STOPPED && number > 0 -> state[me] = GRANTED; unlock(number - 1)
#endif
    :: state[me] != STOPPED && number == 0 -> waits = 1; push(me); unlock(0)
#else
    :: state[me] != STOPPED -> waits = 1; push(me); unlock(number)
#endif
    fi
#ifdef STOP_LATE
    ;
    assert(resumed[me] == 0); // its frame may be gone
    registered[me] = 1
#endif
  fi;
  if
  :: waits // the thread that takes it out of the list has it resumed
  :: else -> frame[me] = 0; go_on(me)
  fi
}

proctype worker(byte w) {
end:
  do
  :: d_step { runnable[w] -> runnable[w] = 0; resumed[w]++ }
    assert(resumed[w] == 1 && frame[w]);
    go_on(w)
  od
}

// The callback of a stop, or none
proctype stop(byte w) {
  bool was_in;
  if
  :: d_step { registered[w] -> registered[w] = 0; stopping[w] = 1 }
#ifdef STOP_UNLOCKED
    was_in = state[w] == QUEUED;
#endif
    lock();
#ifndef STOP_UNLOCKED
    was_in = state[w] == QUEUED;
#endif
#ifdef STOP_BLIND
    was_in = frame[w] && state[w] != IDLE;
#endif
    if
    :: was_in ->
      if
      :: line[0] == w || line[1] == w -> remove(w)
      :: else
      fi;
      state[w] = STOPPED
#ifndef STOP_UNNOTED
    :: !was_in && state[w] == IDLE -> state[w] = STOPPED
    :: !was_in && state[w] != IDLE
#else
    :: !was_in
#endif
    fi;
#ifdef LEAVE_ALL
    d_step { waiting = 0; locked = 0 }
#else
    unlock(number);
#endif
    was_stopped[w] = 1;
    // It is not ended before `stopping` is cleared, unless this thread resumes it.
    if
    :: was_in -> wake(w)
    :: else
    fi;
    stopping[w] = 0
  :: skip // no stop comes
  fi
}

proctype releaser() {
  given++;
  give()
}

init {
  byte i;
  atomic {
    for (i : 1 .. 2) { run coroutine(i); run worker(i); run stop(i) }
    for (i : 1 .. RELEASERS) { run releaser() }
    i = 0
  }
}

// Nothing moves any more: no permit is lost or made up, and no coroutine waits beside a permit, or waits
// though it was stopped.
active proctype monitor() {
  byte w;
  timeout ->
    assert(number + got == given);
    for (w : 1 .. 2) {
      assert(ended[w] || (state[w] == QUEUED && number == 0));
      assert(ended[w] || !was_stopped[w])
    }
}

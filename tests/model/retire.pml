// Retiring a worker against pushes to it (engine/src/idle/retired_workers.hpp, reload.cpp;
// worker/retiring.cpp: renew_rules, send_away): other workers run the tasks that are sent to a worker that
// retires.
//
// check: pass
// check, long: pass -DGROW -DPUSHES=1
// check: pass -DGROW -DBUSY -DPUSHES=3
// check: pass -DNO_STEALING
// check: pass -DNO_STEALING -DGROW
// check: fail -DNO_STEALING -DNO_SECOND_READ
// check: fail -DNO_STEALING -DNO_FENCE
// check: fail -DNO_STEALING -DNO_LAST_LOOK
// check: fail -DNO_PASS_ON
// check: fail -DGROW -DBUSY -DNO_WAKE_ALL
// check: fail -DGROW -DBUSY -DNO_LOOK_AT_RULES
// check: fail -DGROW -DBUSY -DWAKE_FIRST
//
// Two workers of one domain; worker 1 retires, and with GROW is called back. PUSHES tasks come from outside,
// to either inbox: a submitter that chose worker 1 may have done so long before. A task may never end.
// park.pml has the details of memory and sleeping.
//
// To have fewer states: a push is one step with its fence, since a task that lies in a store buffer before
// that is not there for any thread, and the buffer's owner looks at nothing meanwhile; so only the mutant
// without the fence has store buffers. A waker counts the sleeper as a searcher and leaves the token in one
// step, since only the sleeper could tell, and it may be late anyway. A word that no thread reads again is
// reset.
//
// BUSY                worker 0 is in a task that never ends from the beginning
// NO_STEALING         steal policy none: only its worker takes from an inbox, to run it or to hand it over
// NO_SECOND_READ      the producer does not look again, after its push, whether the worker is still there: no
//                     worker sleeps that may be woken for work, so the producer goes away
// NO_FENCE            P2 is missing: it looks before its task can be seen
// NO_LAST_LOOK        R3 is missing: the retired worker sleeps without another look at its inbox
// NO_PASS_ON          a retired worker that was woken, and so counts as a searcher, does not wake another in
//                     its place
// NO_WAKE_ALL         a reload does not wake the sleepers: a worker that sleeps as retired goes on sleeping
// NO_LOOK_AT_RULES    a worker that goes to sleep does not look whether there are newer rules
// WAKE_FIRST          a reload wakes all sleepers before its rules can be seen

#ifndef PUSHES
#define PUSHES 2
#endif
#define PRODUCERS 1
#define WORKERS 2
#define NONE WORKERS
#define THREADS (WORKERS + PRODUCERS)

byte queue[WORKERS];
bool serves[WORKERS] = 1;
bool newer[WORKERS]; // there are newer rules than those that it follows
bool parked_bit[WORKERS];
bool as_retired[WORKERS]; // how it is counted while it sleeps
byte parked;
byte retired_asleep;
byte searching;
bool woken[WORKERS]; // counted as a searcher, and the token left
bool asleep[WORKERS];

// --- memory

#ifdef NO_FENCE
byte buffered[THREADS] = NONE; // in the thread's store buffer: a task on its way to that queue

inline flush(thread) {
  if
  :: buffered[thread] != NONE -> queue[buffered[thread]]++; buffered[thread] = NONE
  :: else
  fi
}

inline put(thread, to) {
  flush(thread);
  buffered[thread] = to // P1
}

proctype memory(byte t) {
end:
  do
  :: d_step { buffered[t] != NONE -> queue[buffered[t]]++; buffered[t] = NONE }
  od
}
#else
#define flush(thread) skip
#define put(thread, to) queue[to]++ // P1, P2
#endif

// --- waking

// wake_ups::wake
inline wake(w) {
  if
  :: d_step { parked_bit[w] -> parked_bit[w] = 0 }
    d_step {
      if
      :: as_retired[w] -> as_retired[w] = 0; retired_asleep--
      :: else -> parked--
      fi
    }
    d_step { searching++; woken[w] = 1; won = 1 }
  :: !parked_bit[w]
  fi
}

// wake_ups::wake_any
inline wake_any() {
  wake(0);
  if
  :: won || !serves[1]
  :: else -> wake(1)
  fi;
  won = 0
}

// wake_ups::notify_pushed
inline notify_pushed(to) {
#ifdef NO_STEALING
#ifdef NO_SECOND_READ
  if
  :: parked == 0 // P3
#else
  if
  :: parked + retired_asleep == 0 // P3
#endif
  :: else -> wake(to); won = 0
  fi
#else
  if
  :: parked + retired_asleep == 0 // P3
  :: else ->
    if
    :: !serves[to] -> wake(to) // it sends the task away
    :: else
    fi;
    if
    :: won || parked == 0 || searching != 0
    :: else -> wake_any() // P4
    fi;
    won = 0
  fi
#endif
}

proctype producer(byte me) {
  byte to, pushes;
  bool won;
  do
  :: pushes < PUSHES ->
    atomic {
      pushes++;
      if
      :: to = 0
      :: to = 1
      fi;
      put(me, to)
    }
    notify_pushed(to);
    to = 0
  :: else -> break
  od
}

// --- reloading

inline wake_all() {
  wake(0);
  wake(1);
  won = 0
}

inline take_up(does) {
  serves[1] = does;
#ifdef WAKE_FIRST
  wake_all();
  d_step { newer[0] = 1; newer[1] = 1 }
#else
  d_step { newer[0] = 1; newer[1] = 1 }
#ifndef NO_WAKE_ALL
  wake_all()
#else
  skip
#endif
#endif
}

// runtime::apply
proctype reloader() {
  bool won;
  take_up(0);
#ifdef GROW
  take_up(1)
#endif
}

// --- a worker

// worker::poll
inline poll() {
  d_step {
    flush(me);
    if
    :: queue[me] > 0 -> queue[me]--; found = 1
    :: else
    fi
  }
}

// worker::renew_rules
inline renew_rules() {
  if
  :: d_step { newer[me] -> newer[me] = 0 }
    retired = !serves[me]
  :: !newer[me]
  fi
}

// send_away: to the other one, until it is called back
inline send_away() {
  do
  :: serves[me] -> break
  :: !serves[me] ->
    if
    :: d_step { queue[me] > 0 -> queue[me]--; put(me, 1 - me) }
      notify_pushed(1 - me)
    :: queue[me] == 0 -> break
    fi
  od
}

// searcher::search
inline search() {
#ifndef NO_STEALING
  if
  :: !is_searching && searching == 0 -> searching++; is_searching = 1
  :: else
  fi;
  if
  :: is_searching ->
    d_step {
      if
      :: queue[1 - me] > 0 -> queue[1 - me]--; found = 1
      :: else
      fi
    }
  :: else
  fi
#else
  skip
#endif
}

// idle_workers::found_work, where the only worker to wake is the other one
inline found_work() {
  d_step { flush(me); searching--; last = searching == 0; is_searching = 0 }
#ifndef NO_STEALING
  if
  :: last && parked > 0 ->
    seen = queue[0] > 0 || queue[1] > 0;
    if
    :: seen -> wake_any()
    :: else
    fi
  :: else
  fi;
#endif
  d_step { seen = 0; last = 0 }
}

// wake_ups::wake_for_all_seen
inline pass_on() {
#if !defined(NO_STEALING) && !defined(NO_PASS_ON)
  if
  :: parked > 0 && (queue[0] > 0 || queue[1] > 0) && searching == 0 -> wake_any()
  :: else
  fi
#else
  skip
#endif
}

// idle_workers::park and sleep
inline park() {
  last = 1;
  d_step {
    flush(me);
    as_retired[me] = retired;
    if
    :: retired -> retired_asleep++
    :: else -> parked++
    fi
  }
  parked_bit[me] = 1; // W1, R1
  if
  :: is_searching -> d_step { searching--; last = searching == 0; is_searching = 0 }
  :: else
  fi;
  // W2, R2
#ifndef NO_LOOK_AT_RULES
  seen = newer[me];
#endif
  if
  :: seen
  :: !seen && retired ->
#ifndef NO_LAST_LOOK
    seen = queue[me] > 0 // R3
#else
    skip
#endif
  :: !seen && !retired ->
    seen = queue[me] > 0; // W3
#ifndef NO_STEALING
    if
    :: !seen && last -> seen = queue[1 - me] > 0
    :: else
    fi
#endif
  fi;
  if
  :: d_step { seen && parked_bit[me] -> parked_bit[me] = 0 }
    d_step {
      if
      :: retired -> retired_asleep--
      :: else -> parked--
      fi;
      as_retired[me] = 0
    }
    searching++ // sleepers::claim_itself, searchers::join
  :: !seen || !parked_bit[me] ->
    if
    :: retired && last -> pass_on()
    :: else
    fi;
    asleep[me] = 1;
end_asleep:
    d_step { woken[me] -> woken[me] = 0; asleep[me] = 0 } // W4, R4
  fi;
  d_step { seen = 0; last = 0; is_searching = 1 }
}

// worker::run
proctype worker(byte me) {
  bool won, found, seen, last, is_searching, retired;
  do
  :: if
    :: retired
    :: else -> poll()
    fi;
    if
    :: found
    :: else ->
      renew_rules();
      if
      :: retired -> send_away()
      :: else -> search()
      fi
    fi;
    if
    :: found && is_searching -> found_work()
    :: found && !is_searching
    :: !found -> park(); goto again
    fi;
    found = 0;
    if
    :: d_step { is_searching = 0; retired = 0 } // the task never ends
      goto busy
    :: true      // it ends, and with it perhaps the tick
    :: renew_rules()
    fi;
again:
    skip
  od;
busy:
end_busy:
  false
}

// When nothing can move any more: does a task wait that a sleeper should run or send away?
proctype monitor() {
  byte i;
  bool waits, sleeps;
  timeout -> d_step {
    i = 0;
    do
#ifdef NO_STEALING
    :: i < WORKERS -> assert(!(queue[i] > 0 && asleep[i])); i++
#else
    :: i < WORKERS -> waits = waits || queue[i] > 0; sleeps = sleeps || (asleep[i] && serves[i]); i++
#endif
    :: else -> break
    od
  }
  assert(!(waits && sleeps))
}

init {
  byte t;
  atomic {
#ifdef NO_FENCE
    do
    :: t < THREADS -> run memory(t); t++
    :: else -> t = 0; break
    od;
#endif
#ifdef BUSY
    t = 1;
#endif
    do
    :: t < WORKERS -> run worker(t); t++
    :: t >= WORKERS && t < THREADS -> run producer(t); t++
    :: else -> t = 0; break
    od;
    run reloader();
    run monitor()
  }
}

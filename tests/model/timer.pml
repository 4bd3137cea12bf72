// Waiting for timers (engine/src/timers/timer_watch.hpp: I1-I3, T1-T4; idle.cpp: park, sleep, found_work;
// sentinel.cpp): while a timer is pending and any worker sleeps, the sentinel sleeps no longer than until it
// is due.
//
// check: pass
// check: pass -DSETTERS=2
// check, long: pass -DWORKERS=3
// check: pass -DALWAYS -DTASKS=2
// check: fail -DNO_SETTER_FENCE
// check: fail -DALWAYS -DNO_WATCH_FENCE
// check: fail -DALWAYS -DPLAN_LATE
// check: fail -DALWAYS -DNO_WAKE
// check: fail -DIGNORE_NOBODY
// check: fail -DEARLY_PENDING
// check: fail -DNO_HAND_OVER
// check: fail -DWORKERS=3 -DTASKS=2 -DHAND_OVER_FIRST
// check: fail -DALWAYS -DTASKS=2 -DLEAVE_ANYWAY
//
// SETTERS threads from outside set a timer each, the first for later than the second, in one group and under
// its lock. WAKES sleepers are woken for other reasons, the sentinel as well as another worker. A worker that
// is awake finds one of TASKS tasks, or goes to sleep again; a task ends, or never does. No worker wakes up
// by time: it only matters until when the sentinel sleeps.
//
// ALWAYS: there is a sentinel whenever a worker sleeps, as while there is no supervisor; else only while a timer
// is pending.
//
// Memory: `next`, the lock's end and `sleeps_until` are stored plainly and become visible late, those of one
// thread in their order; a fence or a read-modify-write of the same thread makes them so.
//
// NO_SETTER_FENCE   I2 is missing: the setter looks at the sentinel before its timer can be seen
// NO_WATCH_FENCE    T2 is missing: the sentinel reads `next` before others see that it is about to sleep
// PLAN_LATE         T1 is missing: `sleeps_until` says something only after `next` was read
// NO_WAKE           I3 wakes no sentinel
// IGNORE_NOBODY     I3 does not wake a worker when there is no sentinel
// EARLY_PENDING     a worker looks whether a timer is pending before it is counted as parked
// NO_HAND_OVER      a woken worker that finds a task does not wake another when there is no sentinel
// HAND_OVER_FIRST   a sentinel that is woken hands its duty over at once, and the worker that was woken for
//                   it need not take it
// LEAVE_ANYWAY      a worker that has handed the duty over leaves it even when no worker searches (D2)

#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef TASKS
#define TASKS 1
#endif
#ifndef WAKES
#define WAKES 1
#endif
#ifndef SETTERS
#define SETTERS 1
#endif
#define NOBODY WORKERS
#define NEVER 3
#define NOTHING 4 // in a store buffer

bool parked_bit[WORKERS];
byte parked;
byte searching;
bool token[WORKERS];
bool counted[WORKERS];
bool asleep[WORKERS]; // the monitor's
byte plan[WORKERS];   // until when
byte sentinel = NOBODY;
byte sleeps_until;
byte sleeps_until_buffered[WORKERS] = NOTHING;
byte next = NEVER;
byte next_buffered[SETTERS] = NOTHING;
bool unlock_buffered[SETTERS];
bool locked;
byte tasks_left = TASKS;
byte wakes_left = WAKES;
byte begun; // workers that have gone to sleep

// --- memory

inline flush_worker(w) {
  if
  :: sleeps_until_buffered[w] != NOTHING ->
    sleeps_until = sleeps_until_buffered[w];
    sleeps_until_buffered[w] = NOTHING
  :: else
  fi
}
inline store_sleeps_until(value) {
  d_step { flush_worker(me); sleeps_until_buffered[me] = value }
}
inline flush_setter(s) {
  if
  :: next_buffered[s] != NOTHING -> next = next_buffered[s]; next_buffered[s] = NOTHING
  :: else
  fi;
  if
  :: unlock_buffered[s] -> unlock_buffered[s] = 0; locked = 0
  :: else
  fi
}
proctype memory() {
  byte i;
end:
  do
  :: d_step { sleeps_until_buffered[0] != NOTHING -> flush_worker(0) }
  :: d_step { sleeps_until_buffered[WORKERS - 1] != NOTHING -> flush_worker(WORKERS - 1) }
#if WORKERS > 2
  :: d_step { sleeps_until_buffered[1] != NOTHING -> flush_worker(1) }
#endif
  :: d_step { next_buffered[0] != NOTHING || unlock_buffered[0] -> flush_setter(0) }
#if SETTERS > 1
  :: d_step { next_buffered[SETTERS - 1] != NOTHING || unlock_buffered[SETTERS - 1] -> flush_setter(SETTERS - 1) }
#endif
  od
}

// --- waking

// wake_ups::wake_any: claims the bit of a parked worker; NOBODY when there is none
inline claim_any(w) {
  atomic {
    w = 0;
    do
    :: w == WORKERS -> break
    :: w < WORKERS && parked_bit[w] -> parked_bit[w] = 0; break
    :: w < WORKERS && !parked_bit[w] -> w++
    od
  }
}
// wake_ups::wake, after that
inline wake(w) {
  d_step { parked--; searching++ }
  counted[w] = 1;
  token[w] = 1
}

proctype outside() {
  byte w;
  begun == WORKERS;
  do
  :: atomic { wakes_left > 0 ->
      w = 0;
      do
      :: w + 1 < WORKERS -> w++
      :: break
      od;
      wakes_left--;
      if
      :: parked_bit[w] -> parked_bit[w] = 0
      :: else -> w = NOBODY
      fi
    }
    if
    :: w != NOBODY -> wake(w)
    :: else
    fi
  :: wakes_left == 0 -> break
  od
}

// timer_group::set, sentinel::timer_set
proctype setter(byte me; byte deadline) {
  byte w;
  bool earlier;
  atomic { !locked -> locked = 1 }
  d_step {
    earlier = deadline < next; // I1
    if
    :: earlier -> next_buffered[me] = deadline
    :: else
    fi;
    unlock_buffered[me] = 1
  }
  if
  :: earlier ->
#ifndef NO_SETTER_FENCE
    d_step { flush_setter(me) } // I2
#endif
    w = sentinel; // I3
    if
    :: w != NOBODY ->
#ifndef NO_WAKE
      if
      :: deadline < sleeps_until -> token[w] = 1
      :: else
      fi
#else
      skip
#endif
    :: else ->
#ifndef IGNORE_NOBODY
      if
      :: parked > 0 ->
        claim_any(w);
        if
        :: w != NOBODY -> wake(w)
        :: else
        fi
      :: else
      fi
#else
      skip
#endif
    fi
  :: else
  fi
}

// --- the worker

// sentinel::watch, until a waker has claimed this worker
inline watch() {
  do
  :: skip;
#ifndef PLAN_LATE
    store_sleeps_until(NEVER); // T1
#endif
#ifndef NO_WATCH_FENCE
    d_step { flush_worker(me) } // T2
#endif
    i = next; // T3
    store_sleeps_until(i);
    d_step { flush_worker(me); plan[me] = i; asleep[me] = 1; i = 0 } // parker::park
end_watching:
    d_step { token[me] -> token[me] = 0; asleep[me] = 0 } // T4
    store_sleeps_until(0);
    if
    :: !parked_bit[me] -> break
    :: else
    fi
  od
}

// the end of sentinel::sleep, and hand_over, which has the rest of `sleep` before it
inline leave_watch() {
  d_step { flush_worker(me); sentinel = NOBODY }
}
inline hand_watch_over() {
#ifndef NO_HAND_OVER
  if
#ifdef ALWAYS
  :: parked > 0 && sentinel == NOBODY ->
#else
  :: parked > 0 && next != NEVER && sentinel == NOBODY ->
#endif
    claim_any(i);
    if
    :: i < WORKERS -> wake(i); handed_over = 1
    :: else
    fi;
    i = 0
  :: else
  fi
#else
  skip
#endif
}

// idle_workers::park and sleep
inline park() {
#ifdef EARLY_PENDING
  pending = next != NEVER;
#endif
  d_step { // W1, W2
    flush_worker(me);
    parked++;
    parked_bit[me] = 1;
    if
    :: begun == me -> begun++
    :: else
    fi
  }
  if
  :: searches ->
    d_step { searching--; searches = 0; others_search = searching > 0 } // D2
  :: else -> others_search = searching > 0 // D2
  fi;
#ifdef LEAVE_ANYWAY
  others_search = 1;
#endif
#ifndef EARLY_PENDING
  pending = next != NEVER;
#endif
#ifdef ALWAYS
  pending = 1;
#endif
  d_step { // the duty's compare-and-swap
    is_sentinel = pending && !(handed_over && others_search) && sentinel == NOBODY;
    pending = 0;
    others_search = 0;
    handed_over = 0;
    if
    :: is_sentinel -> sentinel = me
    :: else
    fi
  }
  if
  :: is_sentinel ->
    watch();
    leave_watch()
  :: else ->
    asleep[me] = 1;
end_sleeping:
    d_step { token[me] -> token[me] = 0; asleep[me] = 0 }
  fi;
  d_step { won = parked_bit[me]; parked_bit[me] = 0 }
  if
  :: won -> d_step { parked--; searching++ } // a token for an earlier sleep
  :: else ->
    counted[me];
    counted[me] = 0
  fi;
  d_step { won = 0; searches = 1 }
#ifdef HAND_OVER_FIRST
  if
  :: is_sentinel -> hand_watch_over()
  :: else
  fi;
#endif
  is_sentinel = 0
}

proctype worker(byte me) {
  byte i;
  bool won, pending, is_sentinel, searches, others_search, handed_over;
  begun >= me; // the workers are alike, so they may go to sleep in their order
  do
  :: park();
    if
    :: d_step { tasks_left > 0 -> tasks_left--; searching--; searches = 0 } // idle_workers::found_work, D3
#ifndef HAND_OVER_FIRST
      hand_watch_over(); // D4
#endif
      if
      :: true                                        // it ends
      :: d_step { searching++; searches = 1 } // it ends, and the worker searches
      :: goto busy
      fi
    :: true // there was none
    fi
  od;
busy:
end_busy:
  false
}

// When nothing can move any more: is a timer pending, a worker asleep, and no worker about to look in time?
proctype monitor() {
  byte i;
  bool sleeps;
  timeout -> d_step {
    do
    :: i < WORKERS -> sleeps = sleeps || asleep[i]; i++
    :: else -> break
    od
  }
  assert(next == NEVER || !sleeps || (sentinel != NOBODY && asleep[sentinel] && plan[sentinel] <= next))
}

init {
  byte t;
  atomic {
    do
    :: t < WORKERS -> run worker(t); t++
    :: else -> break
    od;
    run memory();
    t = 0;
    do
    :: t < SETTERS -> run setter(t, 2 - t); t++
    :: else -> break
    od;
    run outside();
    run monitor()
  }
}

// The LIFO slot (engine/src/idle/slot_watch.hpp: S1-S4, T1-T4; sentinel.cpp; idle.cpp: park, sleep,
// found_work): while any worker sleeps, a task in the slot of a worker whose task never ends is found.
//
// check: pass -DWAKE_AT_ONCE
// check: pass -DWORKERS=2 -DTASKS=3 -DCHILDREN=2
// check: fail -DWORKERS=2 -DNO_SLOT_FENCE
// check: fail -DWORKERS=2 -DNO_WATCH_FENCE
// check: fail -DWORKERS=2 -DNO_SECOND_LOOK
// check: fail -DWORKERS=2 -DNO_WAKE
// check: fail -DWORKERS=2 -DTASKS=3 -DCHILDREN=2 -DTRUST_TOKEN
// check: fail -DWAKE_AT_ONCE -DNO_HAND_OVER
// check: fail -DWORKERS=2 -DNO_HAND_OVER_FENCE
// check: fail -DWORKERS=2 -DLEAVE_ANYWAY
//
// TASKS tasks come from outside, each to a sleeper that is woken for it, the sentinel as well as another
// worker. A task may put one of CHILDREN tasks into the slot of its worker, and may never end. Only a
// sentinel that watches wakes up by time, and it only matters that it looks once more whenever that would
// change anything: a task that it sees in the slot of another worker has aged when that worker's task never
// ends. A task that it takes out is sent elsewhere, which park.pml is about; here a sleeper gets it, perhaps
// the sentinel, or a worker that is awake.
//
// WAKE_AT_ONCE: a waker counts and leaves the token in one step, so that three workers can be searched.
//
// Memory: the slot and `watching` are stored plainly and become visible late; a fence or a read-modify-write
// of the same thread makes them so.
//
// NO_SLOT_FENCE        S3 is missing: the worker may have read `watching` long ago, when it was about to wake
//                      up. (Where stores become visible in one order, the read-modify-writes of waking up are
//                      enough.)
// NO_WATCH_FENCE       T2 is missing: the sentinel counts sleepers before others see that it watches no
//                      longer
// NO_SECOND_LOOK       T3 is missing: the sentinel stops watching because all slept when it looked
// NO_HAND_OVER         a sentinel that is woken and finds work leaves its duty to the next worker that goes
//                      to sleep
// NO_HAND_OVER_FENCE   the sentinel looks for sleepers before others see that the duty is free
// NO_WAKE              S4 does not wake a worker
// LEAVE_ANYWAY         a worker that has handed the duty over leaves it even when no worker searches (D2)
// TRUST_TOKEN          a sleeper whose bit was claimed goes on with any token, perhaps before it is counted
//                      as awake

#ifndef WORKERS
#define WORKERS 3
#endif
#ifndef TASKS
#define TASKS 2
#endif
#ifndef CHILDREN
#define CHILDREN 1
#endif
#define NOBODY WORKERS
#define NOTHING 2 // in a store buffer

bool parked_bit[WORKERS];
byte parked;
byte searching;
bool token[WORKERS];
bool counted[WORKERS];
bool asleep[WORKERS]; // the monitor's
bool never_ends[WORKERS];
byte given[WORKERS]; // tasks that come with the token
byte sentinel = NOBODY;
bool watching;
bool slot[WORKERS];
bool slot_buffered[WORKERS];
byte watching_buffered[WORKERS] = NOTHING; // the thread's last store; those before it have been seen
byte tasks_left = TASKS;
byte children_left = CHILDREN;
byte begun; // workers that have gone to sleep for the first time; then the tasks come

// --- memory

inline flush(thread) {
  slot[thread] = slot[thread] || slot_buffered[thread];
  slot_buffered[thread] = 0;
  if
  :: watching_buffered[thread] != NOTHING -> watching = watching_buffered[thread]; watching_buffered[thread] = NOTHING
  :: else
  fi
}

// An older store that is still in the buffer goes first.
inline store_watching(value) {
  d_step { flush(me); watching_buffered[me] = value }
}

proctype memory(byte t) {
end:
  do
  :: d_step { slot_buffered[t] || watching_buffered[t] != NOTHING -> flush(t) }
  od
}

// --- waking

// wake_ups::wake, after it has claimed the bit of w
inline wake(w) {
#ifdef WAKE_AT_ONCE
  d_step { parked--; searching++; counted[w] = 1; token[w] = 1 }
#else
  d_step { parked--; searching++ }
  counted[w] = 1;
  token[w] = 1
#endif
}

proctype outside() {
  byte w;
  do
  :: atomic { tasks_left > 0 && begun == WORKERS ->
      w = 0;
      do
      :: w + 1 < WORKERS -> w++
      :: break
      od;
      if
      :: parked_bit[w] -> parked_bit[w] = 0; given[w]++; tasks_left--
      :: else -> w = NOBODY
      fi
    }
    if
    :: w != NOBODY -> wake(w)
    :: else
    fi
  :: tasks_left == 0 || (begun == WORKERS && parked == 0) -> break // all awake: not this model's affair
  od
}

// --- the worker

// worker::push_lifo, sentinel::watch_slots. S1: the waker of this worker has counted it as awake.
inline push_next() {
  d_step { flush(me); slot_buffered[me] = 1 } // S2
  if
  :: watched
  :: else ->
    watched = 1;
#ifdef NO_SLOT_FENCE
    again = early;
#else
    d_step { flush(me) } // S3
    again = watching;
#endif
#ifndef NO_WAKE
    if
    :: again // S4
    :: else ->
      i = sentinel;
      if
      :: i != NOBODY -> token[i] = 1
      :: else
      fi;
      i = 0
    fi;
#endif
    again = 0
  fi
}

#define AGED(w) (slot[w] && never_ends[w])
#define ANY_AGED (AGED(0) || AGED(1) || AGED(WORKERS - 1))

// slot_watch::look. The sentinel looks at the slots again and again, so one step that looks at all of them
// leaves nothing out.
inline take_aged() {
  do
  :: atomic { ANY_AGED ->
      d_step {
        flush(me);
        if
        :: AGED(0) -> slot[0] = 0
        :: AGED(1) -> slot[1] = 0
        :: else -> slot[WORKERS - 1] = 0
        fi
      }
      i = 0;
      do
      :: i == WORKERS -> break
      :: i < WORKERS && parked_bit[i] -> parked_bit[i] = 0; given[i]++; break
      :: i < WORKERS -> i++
      od
    }
    if
    :: i < WORKERS -> wake(i)
    :: else
    fi;
    i = 0
  :: else -> break
  od
}

// sentinel::look_at_slots; sets `again`
inline look_at_slots() {
  store_watching(1);
  take_aged();
  again = parked != WORKERS;
  if
  :: again
  :: else ->
    store_watching(0); // T1
#ifndef NO_WATCH_FENCE
    d_step { flush(me) } // T2
#endif
#ifndef NO_SECOND_LOOK
    again = parked != WORKERS; // T3
    if
    :: again -> store_watching(1)
    :: else
    fi
#endif
  fi
}

// sentinel::watch, until a waker has claimed this worker
inline watch() {
  do
  :: look_at_slots();
    d_step { flush(me); asleep[me] = 1 } // parker::park
    if
    :: again ->
end_watching:
      if
      :: d_step { token[me] -> token[me] = 0; asleep[me] = 0 }
      :: d_step { ANY_AGED || parked == WORKERS -> asleep[me] = 0 } // a look that would change something
      fi
    :: else ->
end_asleep:
      d_step { token[me] -> token[me] = 0; asleep[me] = 0 } // T4
    fi;
    if
    :: !parked_bit[me] -> break
    :: else
    fi
  od;
  again = 0
}

// the end of sentinel::sleep, and hand_over, by a woken worker that finds work
inline leave_watch() {
  store_watching(0);
  d_step { flush(me); sentinel = NOBODY }
}
inline hand_watch_over() {
#ifndef NO_HAND_OVER
  if
#ifdef NO_HAND_OVER_FENCE
  :: early_parked == 0 || sentinel != NOBODY
#else
  :: parked == 0 || sentinel != NOBODY
#endif
  :: else ->
    atomic {
      i = 0;
      do
      :: i == WORKERS -> break
      :: i < WORKERS && parked_bit[i] -> parked_bit[i] = 0; break
      :: i < WORKERS && !parked_bit[i] -> i++
      od
    }
    if
    :: i < WORKERS -> wake(i); handed_over = 1
    :: else
    fi;
    i = 0
  fi
#else
  skip
#endif
}

// idle_workers::park and sleep
inline park() {
  d_step {
    flush(me);
    parked++;
    if
    :: begun < WORKERS -> begun++
    :: else
    fi
  }
  parked_bit[me] = 1;
  if
  :: searches ->
    d_step { searching--; searches = 0; others_search = searching > 0 } // D2
  :: else -> others_search = searching > 0 // D2
  fi;
#ifdef LEAVE_ANYWAY
  others_search = 1;
#endif
  d_step { // the duty's compare-and-swap
    is_sentinel = !(handed_over && others_search) && sentinel == NOBODY;
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
#ifdef NO_HAND_OVER_FENCE
    early_parked = parked - parked_bit[me];
#endif
    leave_watch()
  :: else ->
    asleep[me] = 1;
#ifdef NO_SLOT_FENCE
    early = watching;
#endif
end_sleeping:
    d_step { token[me] -> token[me] = 0; asleep[me] = 0 }
  fi;
  d_step { won = parked_bit[me]; parked_bit[me] = 0 }
  if
  :: won -> d_step { parked--; searching++ } // a token for an earlier sleep; sleepers::claim_itself
  :: else ->
#ifndef TRUST_TOKEN
    counted[me];
#endif
    counted[me] = 0
  fi;
  won = 0;
#ifdef NO_HAND_OVER_FENCE
  if
  :: is_sentinel
  :: else -> early_parked = parked
  fi;
#endif
  is_sentinel = 0;
  searches = 1
}

// worker::run
proctype worker(byte me) {
  byte i;
  bool won, again, is_sentinel, watched, searches, others_search, handed_over;
#ifdef NO_SLOT_FENCE
  bool early;
#endif
#ifdef NO_HAND_OVER_FENCE
  byte early_parked;
#endif
  begun == me; // the workers are alike, so they may go to sleep in their order
  do
  :: d_step {
      flush(me);
      won = slot[me] || given[me] > 0;
      if
      :: slot[me] -> slot[me] = 0
      :: !slot[me] && given[me] > 0 -> given[me]--
      :: else
      fi
    }
    if
    :: won ->
      won = 0;
      if
      :: searches -> d_step { searching--; searches = 0 } hand_watch_over() // idle_workers::found_work: D3, D4
      :: else
      fi;
      do
      :: d_step { children_left > 0 && !slot[me] && !slot_buffered[me] -> children_left-- } push_next()
      :: break                         // it ends
      :: never_ends[me] = 1; goto busy // it never ends
      od
    :: else ->
      watched = 0;
      if
      :: d_step { !searches && searching == 0 -> searching++; searches = 1 } // searchers::try_join
      :: else
      fi;
      park()
    fi
  od;
busy:
end_busy:
  false
}

// When nothing can move any more: does a task lie in the slot of a worker that never comes for it, while a
// worker sleeps?
proctype monitor() {
  byte i;
  bool waits, sleeps;
  timeout -> d_step {
    do
    :: i < WORKERS -> waits = waits || AGED(i); sleeps = sleeps || asleep[i]; i++
    :: else -> break
    od
  }
  assert(!(waits && sleeps))
}

init {
  byte t;
  atomic {
    do
    :: t < WORKERS -> run memory(t); run worker(t); t++
    :: else -> break
    od;
    run outside();
    run monitor()
  }
}

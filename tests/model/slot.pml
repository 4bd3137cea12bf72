// The LIFO slot (engine/src/threads/supervisor.hpp: A1-A3, Z1-Z3; idle/lookout.hpp; worker.cpp: begin_work,
// push_next): while any worker sleeps, a task in the slot of a worker whose task never ends is found.
//
// check: pass -DTASKS=3 -DCHILDREN=2
// check: pass -DWORKERS=3 -DTASKS=2 -DCHILDREN=2
// check: fail -DNO_WORKER_FENCE
// check: fail -DNO_SUPERVISOR_FENCE
// check: fail -DNO_SECOND_LOOK
// check: fail -DNO_WAKE
//
// TASKS tasks come from outside, each to a sleeper that is woken for it. A task may put one of CHILDREN tasks into
// the slot of its worker, and may never end. The supervisor looks by time while it is not asleep, and it
// only matters that it looks once more whenever that would change anything: a task that it sees in the slot
// of another worker has aged when that worker's task never ends. A task that it takes out is sent elsewhere,
// which park.pml is about; here a sleeper gets it, or a worker that is awake.
//
// Memory: the slot and the supervisor's `asleep` are stored plainly and become visible late; a fence or a
// read-modify-write of the same thread makes them so.
//
// NO_WORKER_FENCE      A2 is missing: the worker may have read `asleep` long ago, when it was about to wake up
// NO_SUPERVISOR_FENCE  Z2 is missing: the supervisor counts sleepers before others see that it is asleep
// NO_SECOND_LOOK       Z3 is missing: the supervisor falls asleep because all slept when it looked
// NO_WAKE              A3 does not wake the supervisor

#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef TASKS
#define TASKS 2
#endif
#ifndef CHILDREN
#define CHILDREN 1
#endif
#define NOTHING 2 // in the supervisor's store buffer

bool parked_bit[WORKERS];
byte parked;
bool woken[WORKERS];  // counted, and the token left
bool in_bed[WORKERS]; // the monitor's
bool never_ends[WORKERS];
byte given[WORKERS]; // tasks that come with the token
bool slot[WORKERS];
bool slot_buffered[WORKERS];
bool asleep = 1; // the supervisor; there is none before the first task, which is the same
byte asleep_buffered = NOTHING;
bool called; // the supervisor's token
byte tasks_left = TASKS;
byte children_left = CHILDREN;
byte begun; // workers that have gone to sleep for the first time; then the tasks come

// --- memory

inline flush(w) {
  slot[w] = slot[w] || slot_buffered[w];
  slot_buffered[w] = 0
}
inline flush_supervisor() {
  if
  :: asleep_buffered != NOTHING -> asleep = asleep_buffered; asleep_buffered = NOTHING
  :: else
  fi
}
inline store_asleep(value) {
  d_step { flush_supervisor(); asleep_buffered = value }
}

proctype memory() {
end:
  do
  :: d_step { slot_buffered[0] -> flush(0) }
  :: d_step { slot_buffered[1] -> flush(1) }
  :: d_step { slot_buffered[WORKERS - 1] -> flush(WORKERS - 1) }
  :: d_step { asleep_buffered != NOTHING -> flush_supervisor() }
  od
}

// --- waking

// wake_ups::wake, after it has claimed the bit of w
inline wake(w) {
  parked--; // A1
  woken[w] = 1
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
      :: else -> w = WORKERS
      fi
    }
    if
    :: w != WORKERS -> wake(w)
    :: else
    fi
  :: tasks_left == 0 || (begun == WORKERS && parked == 0) -> break // all awake: not this model's affair
  od
}

// --- the supervisor

#define AGED(w) (slot[w] && never_ends[w])
#define ANY_AGED (AGED(0) || AGED(1) || AGED(WORKERS - 1))

// lookout::look_at_slots
inline take_aged() {
  atomic {
    d_step {
      flush_supervisor();
      if
      :: AGED(0) -> slot[0] = 0
      :: AGED(1) -> slot[1] = 0
      :: AGED(WORKERS - 1) -> slot[WORKERS - 1] = 0
      :: else
      fi
    }
    i = 0;
    do
    :: i == WORKERS -> break
    :: i < WORKERS && parked_bit[i] -> parked_bit[i] = 0; given[i]++; break
    :: i < WORKERS && !parked_bit[i] -> i++
    od
  }
  if
  :: i < WORKERS -> wake(i)
  :: else
  fi;
  i = 0
}

proctype supervisor() {
  byte i;
end_asleep:
  do
  :: called -> // parker::park
    d_step { called = 0; flush_supervisor() }
    store_asleep(0); // supervisor::woken
end_awake:
    do
    :: ANY_AGED -> take_aged()
    :: parked == WORKERS -> // supervisor::fall_asleep
      store_asleep(1); // Z1
#ifndef NO_SUPERVISOR_FENCE
      d_step { flush_supervisor() } // Z2
#endif
      if
      :: parked == WORKERS -> break // Z3
      :: parked != WORKERS ->
#ifdef NO_SECOND_LOOK
        break
#else
        store_asleep(0)
#endif
      fi
    od;
    skip;
    d_step { flush_supervisor() } // parker::park
  od
}

// --- the worker

// supervisor::note_awake
inline note_awake() {
#ifdef NO_WORKER_FENCE
  is_asleep = early;
#else
  d_step { flush(me) } // A2
  is_asleep = asleep;
#endif
#ifndef NO_WAKE
  if
  :: is_asleep -> called = 1 // A3
  :: else
  fi;
#endif
  is_asleep = 0
}

// worker::next and execute
proctype worker(byte me) {
  bool found, noted, is_asleep;
#ifdef NO_WORKER_FENCE
  bool early;
#endif
  begun == me; // the workers are alike, so they may go to sleep in their order
  do
  :: d_step {
      flush(me);
      found = slot[me] || given[me] > 0;
      if
      :: slot[me] -> slot[me] = 0
      :: !slot[me] && given[me] > 0 -> given[me]--
      :: else
      fi
    }
    if
    :: found ->
      found = 0;
      if
      :: noted
      :: else -> noted = 1; note_awake() // worker::begin_work
      fi;
      do
      :: d_step { children_left > 0 && !slot[me] && !slot_buffered[me] -> children_left--; slot_buffered[me] = 1 }
      :: break                         // it ends
      :: never_ends[me] = 1; goto busy // it never ends
      od
    :: else ->
      d_step {
        flush(me);
        parked++;
        parked_bit[me] = 1;
        noted = 0;
        if
        :: begun < WORKERS -> begun++
        :: else
        fi;
        in_bed[me] = 1
      }
#ifdef NO_WORKER_FENCE
      early = asleep;
#endif
end_sleeping:
      d_step { woken[me] -> woken[me] = 0; in_bed[me] = 0 }
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
    :: i < WORKERS -> waits = waits || AGED(i); sleeps = sleeps || in_bed[i]; i++
    :: else -> break
    od
  }
  assert(!(waits && sleeps))
}

init {
  byte t;
  atomic {
    do
    :: t < WORKERS -> run worker(t); t++
    :: else -> break
    od;
    run memory();
    run supervisor();
    run outside();
    run monitor()
  }
}

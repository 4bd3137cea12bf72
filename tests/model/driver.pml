// Which thread looks into a group's driver, and which sleeps there (engine/src/idle/drivers.hpp: K1 to K4, Y1 to Y3; base/parker.hpp:
// park, park_in, unpark; idle/idle.cpp: park, sleep, attach, stop).
//
// check: pass
// check, long: pass -DVISITS=0 -DWORKERS=3 -DEVENTS=1
// check: pass -DVISITS=0 -DRETIRES
// check: fail -DVISITS=0 -DRETIRES -DKEEPS_QUIET
// check, long: pass -DRETIRES
// check: pass -DRETIRES -DEVENTS=1
// check: fail -DRETIRES -DEVENTS=1 -DASKS_NO_VISITOR
// check: pass -DRETIRES -DWORKERS=1
// check: fail -DRETIRES -DWORKERS=1 -DONLY_ACTIVE
// check: fail -DNO_WISH
// check: fail -DWISH_UNHEARD
// check: fail -DNOBODY_LIES_DOWN_THERE
// check: fail -DNO_INTERRUPT
// check: fail -DTOKEN_APART
// check: fail -DINTERRUPT_FIRST
// check: fail -DNO_WAKE_AT_ATTACH
// check: fail -DHOLDS_ON
// check: fail -DNO_LAST_LOOK
// check: fail -DTAKEN_TWICE
// check: fail -DSTOP_LEAVES_NO_TOKEN
// check: fail -DTOKENS_BEFORE_STOP
// check: pass -DFIRST -DEVENTS=1
// check: fail -DFIRST -DEVENTS=1 -DNO_WAKE_AT_BEGIN
// check: fail -DFIRST -DEVENTS=1 -DASKS_NO_VISITOR
// check: fail -DFIRST -DEVENTS=1 -DNO_FENCE_AT_BEGIN
// check: pass -DTIMERS -DVISITS=0 -DTASKS=0 -DEVENTS=1
// check: pass -DTIMERS -DWORKERS=1 -DEVENTS=1
// check: fail -DTIMERS -DVISITS=0 -DTASKS=0 -DEVENTS=1 -DNO_ALARM
// check: fail -DTIMERS -DVISITS=0 -DTASKS=0 -DEVENTS=1 -DALARM_KEPT
// check: fail -DTIMERS -DVISITS=0 -DTASKS=0 -DEVENTS=1 -DRING_UNNOTED
//
// The workers of a group run tasks, look into the driver and sleep. A producer sends tasks, the kernel has events, a
// worker of another group visits the driver, and in the end a thread stops the engine. At first all workers lie on their
// futexes, and there is no driver: a thread attaches it.
//
// FIRST               a thread from outside begins the first operation while a worker runs a task that ends only when the
//                     operation has. The lookout, which would wake a sleeper in time (driver_watch.hpp), is left out
// TIMERS              a timer is set for much later, and a thread sets one for soon (timer_watch.hpp; timer.pml has its steps
//                     apart, which are one here). The sentinel may sleep in the driver, by its alarm (group_context.cpp in
//                     io/src), which may ring a little early, once. There is a driver, and all workers are awake at first
// RETIRES             the first worker retires at some moment: it sleeps in the driver no more, unless it is alone
// KEEPS_QUIET         a worker that has retired does not wake another one for the driver
// ASKS_NO_VISITOR     nor does it mark the driver as wanted where it finds a visitor there; nor does the thread that begins the
//                     first operation
// ONLY_ACTIVE         a visitor wakes no worker that has retired
// NO_WISH             a sleeper that finds a visitor in the driver does not mark it as wanted
// WISH_UNHEARD        a visitor does not look whether the driver is wanted
// NOBODY_LIES_DOWN_THERE   a sleeper does not ask for the driver
// NO_INTERRUPT        a waker leaves the token only: the sleeper in the driver does not hear of it
// TOKEN_APART         a waker reads the parker's state, and then leaves the token: two steps instead of one
// INTERRUPT_FIRST     a waker interrupts the driver, and then leaves the token: another holder may take the interrupt before
// NO_WAKE_AT_ATTACH   the thread that attaches the driver wakes no sleeper
// HOLDS_ON            a worker that has slept in the driver does not let go of it
// NO_LAST_LOOK        a worker does not look for tasks after it has set its parked bit
// TAKEN_TWICE         the driver's word is read and then written: two steps instead of one
// STOP_LEAVES_NO_TOKEN   the thread that stops the engine only says so
// TOKENS_BEFORE_STOP  it leaves the tokens before it says so
// NO_WAKE_AT_BEGIN    the thread that begins the first operation wakes no sleeper
// NO_FENCE_AT_BEGIN   it may have looked for sleepers before it looks at the driver
// NO_ALARM            a sentinel in the driver sets no alarm
// ALARM_KEPT          nor does it where one is set, for another time
// RING_UNNOTED        an alarm that has rung counts as set

#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef VISITS
#define VISITS 1
#endif
#ifndef EVENTS
#define EVENTS 2
#endif
#ifndef TASKS
#define TASKS 1
#endif
#ifdef TIMERS
#define ALL_DONE (EVENTS + TASKS + 1)
#define SOON 1
#define LATER 2
#define NEVER 3
#define NO_SENTINEL WORKERS
#else
#define ALL_DONE (EVENTS + TASKS)
#endif

mtype = { nobody, polled, slept_in, visited, wanted }; // the holder of the driver
mtype = { clear, parked, in_driver, notified };         // a parker

mtype held = nobody;
#ifdef TIMERS
mtype state[WORKERS] = clear;
bool asleep[WORKERS]; // the parked bit
bool attached = 1;
#else
mtype state[WORKERS] = parked;
bool asleep[WORKERS] = 1; // the parked bit
bool attached;
#endif
bool interrupted;      // the driver
byte events;           // that wait in the driver
byte tasks;            // that wait in a queue
byte holders;          // threads within the driver
bool ended;
bool retired;          // the first worker
byte done;             // events, tasks and timers
#ifdef FIRST
bool busy;             // a worker is in the task
#endif
#ifdef TIMERS
byte next = LATER;     // when the earliest timer is due
bool due;              // it is SOON
byte sentinel = NO_SENTINEL;
byte sleeps_until;
byte armed = NEVER;    // what the holders of the driver know of the alarm
byte alarm = NEVER;    // when it rings
bool rung;             // what the driver sees of it
#endif

inline enter() { holders++; assert(holders == 1) }
inline leave_to(next) { holders--; held = next }

// Leaves a token for worker w, and wakes it.
inline unpark(w) {
#ifdef TOKEN_APART
  before = state[w];
  state[w] = notified;
#elif defined(INTERRUPT_FIRST)
  d_step {
    before = state[w];
    if
    :: before == in_driver -> interrupted = 1
    :: else -> state[w] = notified
    fi
  }
  if
  :: before == in_driver -> state[w] = notified
  :: else
  fi;
#else
  d_step { before = state[w]; state[w] = notified }
#endif
#if !defined(NO_INTERRUPT) && !defined(INTERRUPT_FIRST)
  if
  :: before == in_driver -> interrupted = 1
  :: else
  fi;
#endif
  before = clear
}

// Wakes a sleeper, if there is one.
inline wake_any() {
  w = 0;
  do
  :: w < WORKERS ->
    claimed = 0;
    d_step {
      if
      :: asleep[w] -> asleep[w] = 0; claimed = 1
      :: else
      fi
    }
    if
    :: claimed -> unpark(w); claimed = 0; break
    :: else -> w++
    fi
  :: else -> break
  od;
  w = 0
}

// Takes the driver as `as`, if it is free.
inline take(as) {
#ifdef TAKEN_TWICE
  if
  :: held == nobody -> has = 1
  :: else -> has = 0
  fi;
  if
  :: has -> held = as
  :: else
  fi
#else
  d_step {
    if
    :: attached && held == nobody -> held = as; has = 1
    :: else -> has = 0
    fi
  }
#endif
}

inline poll_events() {
  d_step {
    done = done + events;
    events = 0;
    interrupted = 0;
#ifdef TIMERS
    if
#ifdef RING_UNNOTED
    :: rung -> rung = 0
#else
    :: rung -> rung = 0; armed = NEVER
#endif
    :: else
    fi
#endif
  }
}

// Sees whether the driver is free, which goes into `has`; marks it as wanted where a visitor holds it.
inline want() {
  d_step {
    has = held == nobody;
#ifndef ASKS_NO_VISITOR
    if
    :: held == visited -> held = wanted
    :: else
    fi
#endif
  }
}

#ifdef TIMERS
inline arm(time) {
#ifndef NO_ALARM
  if
#ifdef ALARM_KEPT
  :: armed == NEVER -> armed = time; alarm = time
#else
  :: armed != time -> armed = time; alarm = time
#endif
  :: else
  fi
#else
  skip
#endif
}
#endif

active [WORKERS] proctype worker() {
  bool has, stay, gone, claimed;
  byte w;
  mtype before = clear;
  byte me = _pid;
#ifdef TIMERS
  byte plan = NEVER;
  bool found;
#endif
  if
  :: me >= WORKERS -> me = 0
  :: else
  fi;
#ifndef TIMERS
  goto asleep_on_futex;
#endif
again:
  if
  :: ended -> goto over
  :: else
  fi;
  gone = retired && me == 0 && WORKERS > 1;
  if
  :: gone -> asleep[me] = 0 // no waker counts on it
  :: else ->
    // its tasks, then the driver
#ifdef FIRST
    d_step { has = tasks != 0; tasks = 0 }
    if
    :: has -> has = 0; busy = 1; done == EVENTS; done++
    :: else
    fi;
#else
    d_step { done = done + tasks; tasks = 0 }
#endif
#ifdef TIMERS
    d_step {
      if
      :: next == SOON && due -> next = LATER; done++
      :: else
      fi
    }
    atomic {
#endif
    take(polled);
    if
    :: has -> enter(); poll_events(); leave_to(nobody)
    :: else
    fi;
#ifdef TIMERS
    has = 0
    }
#endif
    // W1 to W3
    asleep[me] = 1
  fi;
#ifndef NO_LAST_LOOK
  stay = (tasks != 0 && !gone) || ended || (retired && me == 0 && !gone && WORKERS > 1); // newer rules: once more
#endif
  if
  :: stay ->
    stay = 0;
    d_step {
      if
      :: asleep[me] -> asleep[me] = 0
      :: else
      fi
    }
    goto again
  :: else
  fi;
  if
  :: gone ->
    if // it wakes another one for the tasks that it sees (retire.pml)
    :: tasks != 0 -> wake_any()
    :: else
    fi;
#ifndef KEEPS_QUIET
    want(); // K4
    if
    :: has -> has = 0; wake_any()
    :: else
    fi;
#endif
    goto on_futex
  :: else
  fi;
#ifdef TIMERS
  d_step {
    if
    :: sentinel == NO_SENTINEL -> sentinel = me
    :: else
    fi
  }
watch:
  skip;
  d_step { // T1 to T3
    if
    :: sentinel == me -> plan = next; found = next == SOON && due; sleeps_until = (found -> 0 : plan)
    :: else
    fi
  }
  if
  :: found -> goto slept
  :: else
  fi;
#endif
#ifndef NOBODY_LIES_DOWN_THERE
ask: // K1
  skip;
  take(slept_in);
  if
  :: has -> goto lie_in_driver
  :: else
  fi;
#ifndef NO_WISH
  d_step {
    if
    :: held == visited -> held = wanted; has = 0
    :: attached && held == nobody -> has = 1
    :: else -> has = 0
    fi
  }
  if
  :: has -> has = 0; goto ask
  :: else
  fi;
#endif
#endif
on_futex:
  skip;
  d_step {
    if
    :: state[me] == clear -> state[me] = parked
    :: else // a token is there
    fi
  }
asleep_on_futex:
#ifdef TIMERS
  atomic { state[me] == notified || (plan == SOON && due); state[me] = clear }
  goto slept;
#else
  state[me] == notified;
  state[me] = clear;
  goto awake;
#endif
lie_in_driver: // K2
  enter();
  has = 0;
  d_step {
    if
    :: state[me] == clear -> state[me] = in_driver; stay = 1
    :: else
    fi
  }
  if
  :: stay ->
#ifdef TIMERS
    if
    :: plan != NEVER -> arm(plan)
    :: else
    fi;
    (events != 0 || interrupted || rung);
    found = events != 0;
#else
    (events != 0 || interrupted);
#endif
    poll_events();
    stay = 0
  :: else
  fi;
  state[me] = clear;
#ifdef TIMERS
  atomic { leave_to(nobody) }
#elif defined(HOLDS_ON)
  holders--;
#else
  leave_to(nobody); // K3
#endif
#ifdef TIMERS
slept:
  skip;
  d_step {
    plan = NEVER;
    stay = sentinel == me && asleep[me] && !found && !ended;
    found = 0;
    if
    :: sentinel == me -> sleeps_until = 0
    :: else
    fi;
    if
    :: sentinel == me && !stay -> sentinel = NO_SENTINEL
    :: else
    fi
  }
  if
  :: stay -> stay = 0; goto watch
  :: else
  fi;
#endif
awake:
  skip;
  d_step { // W5
    if
    :: asleep[me] -> asleep[me] = 0
    :: else
    fi
  }
  goto again;
over:
  skip
}

active proctype kernel() {
  byte left = EVENTS;
  attached; // operations begin after that
#ifdef FIRST
  byte w;
  bool claimed, has;
  bool seen = 1; // a sleeper
  mtype before = clear;
#ifdef NO_FENCE_AT_BEGIN
  d_step {
    seen = 0;
    w = 0;
    do
    :: w < WORKERS -> seen = seen || asleep[w]; w++
    :: else -> break
    od;
    w = 0
  }
#endif
  busy;
#ifndef NO_WAKE_AT_BEGIN
  want();
  if
  :: has && seen -> wake_any()
  :: else
  fi;
#endif
#endif
  do
  :: left > 0 -> events++; left--
  :: else -> break
  od
}

active proctype owner() {
  byte w;
  bool claimed;
  mtype before = clear;
#ifndef TIMERS
  attached = 1;
#ifndef NO_WAKE_AT_ATTACH
  w = 0;
  do
  :: w < WORKERS ->
    claimed = 0;
    d_step {
      if
      :: asleep[w] -> asleep[w] = 0; claimed = 1
      :: else
      fi
    }
    if
    :: claimed -> unpark(w)
    :: else
    fi;
    w++
  :: else -> break
  od;
#endif
#endif
#ifdef RETIRES
  retired = 1;
  unpark(0); // a reload makes all sleepers look up
#endif
  done == ALL_DONE; // all was looked after
#ifndef TOKENS_BEFORE_STOP
  ended = 1;
#endif
#ifndef STOP_LEAVES_NO_TOKEN
  w = 0;
  do
  :: w < WORKERS -> unpark(w); w++
  :: else -> break
  od;
#endif
#ifdef TOKENS_BEFORE_STOP
  ended = 1
#endif
}

#ifdef TIMERS
active proctype setter() {
  byte w, s;
  bool claimed, told;
  mtype before = clear;
  d_step { // I1 to I3
    next = SOON;
    s = sentinel;
    told = s != NO_SENTINEL && sleeps_until <= SOON
  }
  if
  :: told
  :: !told && s != NO_SENTINEL -> unpark(s)
  :: else -> wake_any()
  fi;
  d_step { s = 0; told = 0 }
}

active proctype clock() {
  bool early;
  do
  :: d_step { !due && next == SOON -> due = 1 }
  :: d_step { !due && !early && alarm == SOON -> early = 1; alarm = NEVER; rung = 1 }
  :: d_step { due && alarm == SOON -> alarm = NEVER; rung = 1 }
  :: ended -> break
  od
}
#endif

active proctype producer() {
  byte w;
  bool claimed;
  mtype before = clear;
#if TASKS
  tasks++;
  wake_any()
#endif
}

active proctype visitor() {
  byte left = VISITS;
  byte w;
  bool claimed, has, asked;
  mtype before = clear;
  do
  :: left > 0 ->
    left--;
    take(visited); // Y1
    if
    :: has ->
      enter();
      poll_events(); // Y2
      holders--;
      d_step { asked = held == wanted; held = nobody } // Y3
#ifndef WISH_UNHEARD
      if
#ifdef ONLY_ACTIVE
      :: asked && !(retired && WORKERS == 1) -> wake_any()
#else
      :: asked -> wake_any()
#endif
      :: else
      fi;
#endif
      asked = 0
    :: else
    fi
  :: else -> break
  od
}

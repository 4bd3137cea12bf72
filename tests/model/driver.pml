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
// check: fail -DNO_WAKE_AT_ATTACH
// check: fail -DHOLDS_ON
// check: fail -DNO_LAST_LOOK
// check: fail -DTAKEN_TWICE
//
// The workers of a group run tasks, look into the driver and sleep. A producer sends tasks, the kernel has events, a
// worker of another group visits the driver, and in the end a thread stops the engine. At first all workers lie on their
// futexes, and there is no driver: a thread attaches it.
//
// RETIRES             the first worker retires at some moment: it sleeps in the driver no more, unless it is alone
// KEEPS_QUIET         a worker that has retired does not wake another one for the driver
// ASKS_NO_VISITOR     nor does it mark the driver as wanted where it finds a visitor there
// ONLY_ACTIVE         a visitor wakes no worker that has retired
// NO_WISH             a sleeper that finds a visitor in the driver does not mark it as wanted
// WISH_UNHEARD        a visitor does not look whether the driver is wanted
// NOBODY_LIES_DOWN_THERE   a sleeper does not ask for the driver
// NO_INTERRUPT        a waker leaves the token only: the sleeper in the driver does not hear of it
// TOKEN_APART         a waker reads the parker's state, and then leaves the token: two steps instead of one
// NO_WAKE_AT_ATTACH   the thread that attaches the driver wakes no sleeper
// HOLDS_ON            a worker that has slept in the driver does not let go of it
// NO_LAST_LOOK        a worker does not look for tasks after it has set its parked bit
// TAKEN_TWICE         the driver's word is read and then written: two steps instead of one

#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef VISITS
#define VISITS 1
#endif
#ifndef EVENTS
#define EVENTS 2
#endif
#define TASKS 1

mtype = { nobody, polled, slept_in, visited, wanted }; // the holder of the driver
mtype = { clear, parked, in_driver, notified };         // a parker

mtype held = nobody;
mtype state[WORKERS] = parked;
bool asleep[WORKERS] = 1; // the parked bit
bool attached;
bool interrupted;      // the driver
byte events;           // that wait in the driver
byte tasks;            // that wait in a queue
byte holders;          // threads within the driver
bool ended;
bool retired;          // the first worker
byte done;             // events and tasks

inline enter() { holders++; assert(holders == 1) }
inline leave_to(next) { holders--; held = next }

// Leaves a token for worker w, and wakes it.
inline unpark(w) {
#ifdef TOKEN_APART
  before = state[w];
  state[w] = notified;
#else
  d_step { before = state[w]; state[w] = notified }
#endif
#ifndef NO_INTERRUPT
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
  d_step { done = done + events; events = 0; interrupted = 0 }
}

active [WORKERS] proctype worker() {
  bool has, stay, gone, claimed;
  byte w;
  mtype before = clear;
  byte me = _pid;
  if
  :: me >= WORKERS -> me = 0
  :: else
  fi;
  goto asleep_on_futex;
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
    d_step { done = done + tasks; tasks = 0 }
    take(polled);
    if
    :: has -> enter(); poll_events(); leave_to(nobody)
    :: else
    fi;
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
    d_step { // K4
      has = held == nobody;
#ifndef ASKS_NO_VISITOR
      if
      :: held == visited -> held = wanted
      :: else
      fi
#endif
    }
    if
    :: has -> has = 0; wake_any()
    :: else
    fi;
#endif
    goto on_futex
  :: else
  fi;
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
  state[me] == notified;
  state[me] = clear;
  goto awake;
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
    (events != 0 || interrupted);
    poll_events();
    stay = 0
  :: else
  fi;
  state[me] = clear;
#ifdef HOLDS_ON
  holders--;
#else
  leave_to(nobody); // K3
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
  do
  :: left > 0 -> events++; left--
  :: else -> break
  od
}

active proctype owner() {
  byte w;
  bool claimed;
  mtype before = clear;
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
#ifdef RETIRES
  retired = 1;
  unpark(0); // a reload makes all sleepers look up
#endif
  done == EVENTS + TASKS; // all was looked after
  ended = 1;
  w = 0;
  do
  :: w < WORKERS -> unpark(w); w++
  :: else -> break
  od
}

active proctype producer() {
  byte w;
  bool claimed;
  mtype before = clear;
  tasks++;
  wake_any()
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

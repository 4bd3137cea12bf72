// Lent seats (engine/src/worker/seat_generation.hpp: L1-L4, T1-T2; supervisor.hpp: B1-B3, V1-V3;
// threads.cpp: offer, sit, wait_for_seat): a seat never has two threads, and the tasks that wait in a lent
// seat run while there is a spare thread.
//
// check: pass
// check: pass -DTHREADS=2 -DLENDS=5 -DPUSHES=3
// check, long: pass -DTHREADS=4 -DLENDS=3
// check: pass -DTHREADS=4 -DLENDS=4 -DPUSHES=1
// check: fail -DBLIND_RETURN
// check: fail -DBLIND_SPARE
// check: fail -DSAME_GENERATION
// check: fail -DNO_LENDER_FENCE
// check: fail -DNO_SUPERVISOR_FENCE
// check: fail -DNO_SECOND_LOOK
// check: fail -DNO_SECOND_OFFER
//
// One seat, on which one of THREADS threads sits; the others are spare. PUSHES tasks come from outside. Tasks
// make LENDS blocking calls in all, as many as each likes, and a call may never end. The thread that lends
// the seat may call a spare thread at once (`lend`, in haste). Time does not count: the supervisor may find
// any lending that it sees to be a long one, and goes away whenever it sees none. When nothing can move any
// more `monitor` looks at what is left.
//
// A thread touches the seat's queues in two steps, in which it must be alone. The thread that regains the
// seat must find it as it left it, since it acquires nothing there.
//
// Memory: threads change the word of the seat by read-modify-writes; in the mutants without a fence it, or
// the supervisor's word, is stored plainly and becomes visible late.
//
// BLIND_RETURN         the thread that comes back does not compare
// BLIND_SPARE          the spare thread does not compare
// SAME_GENERATION      the word says only whether the seat is lent
// NO_LENDER_FENCE      B2 is missing: the lender looks at the supervisor before others can see that the seat
//                      is lent
// NO_SUPERVISOR_FENCE  V2 is missing: the supervisor looks at the seat before others can see that it is
//                      absent
// NO_SECOND_LOOK       V3 is missing
// NO_SECOND_OFFER      when no thread was spare the supervisor does not look again

#ifndef THREADS
#define THREADS 3
#endif
#ifndef LENDS
#define LENDS 4
#endif
#ifndef PUSHES
#define PUSHES 2
#endif
#define NOTHING 2 // in the supervisor's store buffer

byte generation; // both are one word
bool lent;
bool lent_buffered;
byte absent_buffered = NOTHING;
bool absent = 1;     // the supervisor's attention
bool token;          // for the supervisor
byte tasks;          // in the queues of the seat
byte pushes_left = PUSHES;
byte lends_left = LENDS;
byte users;          // threads that touch the queues now
byte sits;           // the thread that sat down last
bool spare[THREADS];
byte spares;
byte offer[THREADS]; // the lending that a spare thread was called for; 0: none

inline flush_lent() {
  if
  :: lent_buffered -> lent = 1; lent_buffered = 0
  :: else
  fi
}

proctype memory() {
end:
  do
  :: d_step { lent_buffered -> lent = 1; lent_buffered = 0 }
  :: d_step { absent_buffered != NOTHING -> absent = absent_buffered; absent_buffered = NOTHING }
  od
}

proctype outside() {
  do
  :: pushes_left > 0 -> d_step { pushes_left--; tasks++ }
  :: pushes_left == 0 -> break
  od
}

inline touch() {
  users++;
  assert(users == 1);
  users--
}

// worker_threads::take_spare, under its lock; in an atomic step, where some thread is spare.
inline call_spare(lending) {
  i = 0;
  do
  :: spare[i] -> break
  :: else -> i++
  od;
  spare[i] = 0;
  spares--;
  offer[i] = lending;
  i = 0
}

#define SOMEBODY_SPARE (spares > 0)

proctype thread(byte me) {
  byte mine; // the lending
  byte i;
  if
  :: me == 0 -> goto seated
  :: else
  fi;

waiting: // worker_threads::wait_for_seat
  atomic { spare[me] = 1; spares++ }
end_spare:
  atomic { offer[me] != 0 -> mine = offer[me]; offer[me] = 0 }
  atomic { // worker_threads::sit
    if
#ifdef BLIND_SPARE
    :: true ->
#else
    :: lent && generation == mine -> // T1
#endif
      lent = 0;
#ifndef SAME_GENERATION
      generation++;
#endif
      sits = me
    :: else -> goto waiting
    fi
  }

seated: // worker::run
  touch();
end_idle:
  atomic { tasks > 0 -> tasks-- }
  do
  :: break // the task ends
  :: atomic { lends_left > 0 -> lends_left-- } // worker::lend
    touch();
    atomic { // L1
#ifndef SAME_GENERATION
      generation++;
      mine = generation;
#else
      generation = 1;
      mine = 1;
#endif
#ifdef NO_LENDER_FENCE
      lent_buffered = 1
#else
      lent = 1
#endif
    }
    if
    :: atomic { SOMEBODY_SPARE -> call_spare(mine) } // in haste
    :: absent -> token = 1 // B3
    :: !absent
    fi;
    if // L2
    :: true
    :: true -> goto blocked
    fi;
    atomic { // worker::regain
      flush_lent();
      if
#ifdef BLIND_RETURN
      :: true -> lent = 0
#else
      :: lent && generation == mine -> // L3
        lent = 0;
        assert(sits == me)
#endif
      :: else -> goto waiting // L4: the task ends without a seat
      fi
    }
    touch()
  od;
  goto seated;

blocked:
end_blocked:
  false
}

proctype supervisor() {
  byte i;
  byte offered; // the lending that was offered last
end_absent:
  atomic { token -> token = 0; absent = 0; absent_buffered = NOTHING }
end_looking:
  do
#ifdef NO_SECOND_OFFER
  :: atomic { lent && offered != generation ->
      offered = generation;
      if
      :: SOMEBODY_SPARE -> call_spare(offered)
      :: else
      fi
    }
#else
  :: atomic { lent && offered != generation && SOMEBODY_SPARE -> offered = generation; call_spare(offered) }
#endif
  :: !lent -> // supervisor::leave_attention
#ifdef NO_SUPERVISOR_FENCE
    absent_buffered = 1; // V1
#else
    absent = 1; // V1, V2
#endif
#ifdef NO_SECOND_LOOK
    goto end_absent;
#endif
    if
    :: lent -> d_step { absent = 0; absent_buffered = NOTHING } // V3
    :: else -> goto end_absent
    fi
  od
}

// Nothing can move any more: the thread that lent the seat blocks for ever.
proctype monitor() {
end:
  timeout -> assert(!(tasks > 0 && lent && SOMEBODY_SPARE));
  assert(tasks == 0 || lent)
}

init {
  byte t;
  atomic {
    do
    :: t < THREADS -> run thread(t); t++
    :: else -> break
    od;
    t = 0;
    run outside();
    run memory();
    run supervisor();
    run monitor()
  }
}

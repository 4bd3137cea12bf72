// Closing (submission.cpp: accept; shared.hpp: closed_meanwhile; runtime.cpp: end): every task that was
// accepted runs, and the end does come.
//
// check: pass
// check: fail -DNO_FENCE
// check: fail -DNO_SECOND_LOOK
// check: fail -DQUIET_REFUSAL
// check: fail -DNO_PROGRESS_FENCE
// check: fail -DSUBMITTED_FIRST
// check: pass -DDEADLINE -DWORKERS=1
// check: fail -DDEADLINE -DNO_WAIT_FOR_ARRIVING
// check: fail -DDEADLINE -DLET_GO_FIRST
// check: fail -DDEADLINE -DNO_FENCE
//
// Two threads submit while a third ends the engine. One of the tasks may submit another from inside; an
// engine that is closing still accepts that task.
//
// DEADLINE             the engine may end before the books balance; the accepted tasks then run, or are
//                      dropped
// NO_WAIT_FOR_ARRIVING when the deadline is over, it does not wait for the submitters that it has let in
// LET_GO_FIRST         a submitter says that it is done before it has put its task down
// NO_FENCE             closed_meanwhile looks at the stage before its count can be seen
// NO_SECOND_LOOK       a submitter looks at the stage only before it counts
// QUIET_REFUSAL        a submitter that takes its count back does not tell the waiting thread
// NO_PROGRESS_FENCE, SUBMITTED_FIRST   as in drain.pml

#ifndef WORKERS
#define WORKERS 2
#endif
#define SUBMITTERS 2
#define THREADS (WORKERS + SUBMITTERS)
#define CHILD SUBMITTERS // a submitter's task has its number
#define TASKS (SUBMITTERS + 1)

#include "books.inc"

// holder::announce and let_go; without a deadline no thread looks
#ifdef DEADLINE
#define HOLD(me) buffer[me]!HELD, 0
#define RELEASE(me) buffer[me]!LET_GO, 0
#else
#define HOLD(me)
#define RELEASE(me)
#endif

mtype:stage = { open, closing, ended };
mtype:stage stage = open;
bool accepted[TASKS];
bool spawned;
byte seated = WORKERS;
bool over;

// runtime::accept, from outside
proctype submitter(byte me; byte t) {
  bool refused;
  if
  :: stage != open -> goto refuse // enter
  :: else
  fi;
  if
  :: phase[t] = 0
  :: phase[t] = 1
  fi;
  buffer[me]!SUBMITTED, t;
  HOLD(me);
#ifndef NO_SECOND_LOOK
#ifndef NO_FENCE
  fence(me);
#endif
  if
  :: stage != open -> // closed_meanwhile
    RELEASE(me);
    buffer[me]!FINISHED, t;
#ifndef QUIET_REFUSAL
    progress(me);
#endif
    goto refuse
  :: else
  fi;
#endif
  accepted[t] = 1;
#ifdef LET_GO_FIRST
  RELEASE(me);
  buffer[me]!PUSHED, t;
#else
  buffer[me]!PUSHED, t;
  RELEASE(me);
#endif
refuse:
  skip
}

// runtime::accept, from a task: one task does
inline spawn() {
  atomic { !spawned -> spawned = 1; phase[CHILD] = phase[t] }
  if
  :: stage == ended
  :: else ->
    atomic { buffer[me]!SUBMITTED, CHILD; accepted[CHILD] = 1 }
    buffer[me]!PUSHED, CHILD
  fi
}

proctype worker(byte me) {
  byte t;
  bool working;
  do
  :: stage == ended -> break // worker::run
  :: atomic {
      if
      :: visible[0] -> t = 0
      :: visible[1] -> t = 1
      :: visible[2] -> t = 2
      fi;
      visible[t] = 0
    }
    working = 1;
    if
    :: spawn()
    :: true
    fi;
    atomic { assert(!done[t]); done[t] = 1; buffer[me]!FINISHED, t; t = 0 }
  :: working -> working = 0; progress(me)
  od;
  fence(me);
  seated--
}

inline drop(t) {
  atomic {
    if
    :: visible[t] -> visible[t] = 0; done[t] = 1
    :: else
    fi
  }
}

// runtime::end
proctype ender() {
  byte i, sum_finished, sum_submitted;
  bool quiet;
  stage = closing;
#ifdef DEADLINE
  if
  :: wait(0, 1)
  :: true
  fi;
#ifndef NO_WAIT_FOR_ARRIVING
  do // submitter_registry::wait_for_arriving
  :: i < SUBMITTERS -> !held[WORKERS + i]; i++
  :: else -> break
  od;
  i = 0;
#endif
#else
  wait(0, 1); // its fence comes after the store above
#endif
  stage = ended;
  seated == 0;
#ifdef DEADLINE
  do // drop_queued
  :: i < TASKS -> drop(i); i++
  :: else -> break
  od;
#endif
  over = 1
}

proctype monitor() {
  byte t;
  timeout -> assert(over);
  d_step {
    do
    :: t < TASKS -> assert(done[t] == accepted[t] && !visible[t]); t++
    :: else -> break
    od
  }
}

init {
  byte t;
  atomic {
    do
    :: t < WORKERS -> run memory(t); run worker(t); t++
    :: t >= WORKERS && t < THREADS -> run memory(t); run submitter(t, t - WORKERS); t++
    :: else -> break
    od;
    run ender();
    run monitor()
  }
}

// Drain (engine/src/books/drain.hpp, ledger.hpp; submission.cpp: accept; shared.cpp: sum; worker.cpp:
// execute; ticks.cpp: end_tick): it returns after everything that was submitted before it has ended, children too, and
// it does return.
//
// check: pass
// check: fail -DSUBMITTED_FIRST
// check: fail -DNO_PROGRESS_FENCE
// check: fail -DCHILDREN_IN_OPEN_PHASE
// check: fail -DNO_FIRST_WAIT
// check: fail -DLATE_WORD
//
// One thread submits and drains, another submits meanwhile: a task at any time, then one after the drain has
// changed the phase, which does not end before the drain has returned. So the drain must not need the worker
// of that task.
//
// SUBMITTED_FIRST           the sums are taken in the other order
// NO_PROGRESS_FENCE         a worker looks for waiters before they can see what it finished
// CHILDREN_IN_OPEN_PHASE    children are counted in the phase that is open, not in their parent's
// NO_FIRST_WAIT             drain does not wait for the phase that it opens
// LATE_WORD                 a worker that goes on to a task of the other phase says nothing until its tick
//                           ends

#ifndef DRAINS
#define DRAINS 2
#endif
#define CHILDREN 1
#define WORKERS 2
#define THREADS (WORKERS + 1)
#define OUTSIDE WORKERS // both threads outside keep one ledger here
#define EARLY 0     // the drainer's task
#define ANY_TIME 1  // the other thread's tasks
#define LATE 2
#define FIRST_CHILD 3
#define TASKS (FIRST_CHILD + CHILDREN)

#include "books.inc"

bit open;
byte children;        // the number that has been made
byte parent[TASKS];
bool accepted[TASKS]; // its submission has returned
bool awaited[TASKS];  // the drain under way must wait for it
bool switched;        // the first drain has changed the phase
byte drained;         // the number of drains that have returned

// runtime::accept, from outside. A fence follows each of the two stores, so they need no buffer.
inline submit(t) {
  phase[t] = open;
  submitted[BOOK(OUTSIDE, phase[t])]++;
  atomic { visible[t] = 1; accepted[t] = 1 }
}

inline note_what_is_awaited() {
  d_step {
    i = 0;
    do
    :: i < FIRST_CHILD -> awaited[i] = accepted[i]; i++
    :: i >= FIRST_CHILD && i < FIRST_CHILD + children -> awaited[i] = accepted[i] || awaited[parent[i]]; i++
    :: else -> break
    od;
    i = 0
  }
}

inline check_what_was_awaited() {
  d_step {
    i = 0;
    do
    :: i < TASKS -> assert(!awaited[i] || done[i]); awaited[i] = 0; i++
    :: else -> break
    od;
    i = 0
  }
}

// drain_gate::drain
inline drain() {
  closing = open;
#ifndef NO_FIRST_WAIT
  wait(1 - closing, 1 - closing);
#endif
  atomic { open = 1 - closing; switched = 1 }
  wait(closing, closing)
}

proctype drainer() {
  byte i, sum_finished, sum_submitted;
  bit closing;
  bool quiet;
  submit(EARLY);
  do
  :: drained == DRAINS -> break
  :: else ->
    note_what_is_awaited();
    drain();
    check_what_was_awaited();
    drained++
  od
}

proctype other() {
  submit(ANY_TIME);
  switched;
  submit(LATE)
}

// runtime::accept, from a task; not executable when there are children enough. A fence follows these stores
// too.
inline spawn() {
  atomic {
    t != LATE && children < CHILDREN;
    child = FIRST_CHILD + children;
    children++;
    parent[child] = t;
    awaited[child] = awaited[t];
#ifdef CHILDREN_IN_OPEN_PHASE
    phase[child] = open
#else
    phase[child] = phase[t]
#endif
  }
  atomic { fence(me); submitted[BOOK(me, phase[child])]++ } // in order with what the buffer holds
  atomic { visible[child] = 1; accepted[child] = 1; child = 0 }
}

// Takes any task that it sees.
inline take() {
  atomic {
    if
    :: visible[0] -> t = 0
    :: visible[1] -> t = 1
    :: visible[2] -> t = 2
    :: visible[3] -> t = 3
    fi;
    visible[t] = 0
  }
}

proctype worker(byte me) {
  byte t, child;
  bit last_phase;
  bool working;
end:
  do
  :: take();
#ifndef LATE_WORD
    if
    :: phase[t] != last_phase -> progress(me); last_phase = phase[t]
    :: else
    fi;
#endif
    working = 1;
    if
    :: t == LATE -> drained > 0
    :: spawn()
    :: t != LATE
    fi;
    atomic { done[t] = 1; buffer[me]!FINISHED, t; t = 0 }
  :: working -> working = 0; progress(me) // the end of a tick, or no more work: end_tick
  od
}

// When nothing can move any more: has the drain returned?
proctype monitor() {
  timeout -> assert(drained == DRAINS)
}

init {
  byte t;
  atomic {
    do
    :: t < WORKERS -> run memory(t); run worker(t); t++
    :: else -> break
    od;
    run drainer();
    run other();
    run monitor()
  }
}

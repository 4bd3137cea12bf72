// The queue of a class and its word (engine/src/queues/class_queue.hpp; wake_ups.cpp and idle.cpp: pushed,
// leaves_to_better_suited, park; worker.cpp: poll; searcher.cpp): no task waits while a worker of the domain
// sleeps, and in the end the word says whether something waits.
//
// check: pass
// check: pass -DPRODUCERS=2 -DPUSHES=1 -DOWN=0
// check, long: pass -DWORKERS=3 -DPUSHES=2 -DOWN=0
// check: pass -DKINDS
// check: pass -DKINDS -DPRODUCERS=2 -DPUSHES=1
// check: pass -DWORKERS=3 -DKINDS -DPUSHES=1 -DOWN=0
// check: pass -DPLAIN_SET
// check: fail -DPLAIN_SET -DNO_FENCE
// check: fail -DPLAIN_CLEAR
// check: fail -DNO_SECOND_LOOK
// check: fail -DWORD_FIRST
// check: fail -DTRUST_WORD
// check: fail -DNO_WORKER_FENCE
// check: fail -DNO_RULE_2
// check: fail -DKINDS -DFORGET
//
// One domain and one class; there are no time-outs. PUSHES tasks come from each producer. OWN more tasks wait
// in each worker's own queue, where no other worker finds them: so workers are busy at first and look at the
// word between two tasks. Any task may never end. `monitor` looks when nothing can move any more.
//
// Memory: plain stores (the last step of putting a task in) lie in the thread's store buffer, in order, until
// the memory takes them out, or a fence or a read-modify-write of the thread waits for that. Each look at a
// word is a step.
//
// KINDS            worker 0 suits the class best: a searcher leaves tasks to it when it sleeps, and wakes it
// PLAIN_SET        C2 is a plain store: enough here, where the memory keeps the order of stores, as P2
//                  follows
// NO_FENCE         P2 is missing; alone it changes nothing here, since C2 empties the store buffer
// PLAIN_CLEAR      K1 is a plain store
// NO_SECOND_LOOK   K2 is missing
// WORD_FIRST       C2 before C1
// TRUST_WORD       a worker that goes to sleep looks at the word instead of the queue
// NO_WORKER_FENCE  W2 is missing: the worker looks before others can see its bit
// NO_RULE_2        the last searcher that finds work does not wake another worker
// FORGET           a worker that left a task to another does not look for it before it sleeps

#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef PRODUCERS
#define PRODUCERS 1
#endif
#ifndef PUSHES
#define PUSHES 3
#endif
#ifndef OWN
#define OWN 1
#endif

mtype = { PUT, SET, CLEAR };
chan buffer[WORKERS + PRODUCERS] = [2] of { mtype };

byte queue; // tasks that others can see
bool word;  // waiting_
byte own[WORKERS] = OWN;
byte to_push[PRODUCERS] = PUSHES;
bool parked_bit[WORKERS];
byte parked;
short searching;
bool token[WORKERS];
bool counted[WORKERS];
bool asleep[WORKERS];

// A thread's stores leave its buffer at any time, in order.
proctype memory(byte t) {
  mtype what;
end:
  do
  :: d_step {
      buffer[t]?what;
      if
      :: what == PUT -> queue++
      :: what == SET -> word = 1
      :: what == CLEAR -> word = 0
      fi;
      what = 0
    }
  od
}

inline fence(thread) { empty(buffer[thread]) }
inline exchange(thread, value) {
  atomic { empty(buffer[thread]); word = value }
}

// --- the producer's side

// wake_ups::wake
inline wake(w) {
  d_step {
    won = parked_bit[w];
    parked_bit[w] = 0
  }
  if
  :: won ->
    parked--;
    searching++;
    counted[w] = 1;
    token[w] = 1
  :: else
  fi
}

// idle_rules::wake_suited: worker 0 is asked first
inline wake_any() {
  i = 0;
  do
  :: i == WORKERS -> break
  :: else ->
    wake(i);
    if
    :: won -> break
    :: else -> i++
    fi
  od;
  atomic { i = 0; won = 0 }
}

proctype producer(byte me) {
  byte i;
  bool won;
  do
  :: to_push[me - WORKERS] == 0 -> break
  :: else ->
    to_push[me - WORKERS]--;
#ifdef WORD_FIRST
    exchange(me, 1);
    buffer[me]!PUT;
#else
    buffer[me]!PUT; // C1
#ifdef PLAIN_SET
    buffer[me]!SET;
#else
    exchange(me, 1); // C2
#endif
#endif
#ifndef NO_FENCE
    fence(me); // P2
#endif
    if
    :: parked == 0
    :: else ->
      if
      :: searching != 0 // P3
      :: else -> wake_any()
      fi
    fi
  od
}

// --- the worker's side

// class_queue::pop
inline pop() {
  do
  :: d_step {
      if
      :: queue > 0 -> queue--; found = 1
      :: else
      fi
    }
    if
    :: found -> break
    :: else ->
#ifdef PLAIN_CLEAR
      buffer[me]!CLEAR; // K1
#else
      exchange(me, 0); // K1
#endif
#ifdef NO_SECOND_LOOK
      break
#else
      if
      :: queue == 0 -> break // K2
      :: else -> exchange(me, 1)
      fi
#endif
    fi
  od
}

// searcher::search, as many rounds as it likes
inline search() {
  do
  :: if
    :: queue > 0 ->
#ifdef KINDS
      if
      :: me != 0 -> // wake_ups::leaves_to_better_suited
        wake(0);
        handed = handed || won || counted[0];
        won = 0
      :: else
      fi;
#endif
      if
      :: handed
      :: else -> pop()
      fi
    :: else
    fi;
    if
    :: found -> break
    :: !found -> break
    :: !found // another round
    fi
  od
}

// idle_workers::found_work
inline found_work() {
  atomic { empty(buffer[me]); searching--; last = searching == 0; is_searching = 0 }
#ifdef NO_RULE_2
  last = 0;
#endif
  if
  :: last && parked > 0 ->
    if
    :: queue > 0 -> wake_any()
    :: else
    fi
  :: else
  fi;
  last = 0
}

// idle_workers::park
inline park() {
#ifdef NO_WORKER_FENCE
  seen = queue > 0;
#endif
  atomic { empty(buffer[me]); parked++ } // W1
  parked_bit[me] = 1;
  last = 1;
  if
  :: is_searching -> d_step { searching--; last = searching == 0; is_searching = 0 }
  :: else
  fi;
  // W2
  if
  :: last -> // W3
#ifdef TRUST_WORD
    seen = word
#else
#ifndef NO_WORKER_FENCE
    seen = queue > 0
#endif
#endif
  :: else -> seen = 0
  fi;
#ifdef FORGET
  seen = seen && !handed;
#endif
  d_step {
    won = seen && parked_bit[me];
    if
    :: won -> parked_bit[me] = 0
    :: else
    fi
  }
  if
  :: won -> parked--; searching++
  :: else ->
    d_step { seen = 0; last = 0; handed = 0; asleep[me] = 1 }
end_asleep:
    d_step { token[me] -> token[me] = 0; asleep[me] = 0 } // W4
    counted[me];
    counted[me] = 0
  fi;
  d_step { seen = 0; last = 0; won = 0; is_searching = 1 }
}

proctype worker(byte me) {
  byte i;
  bool won, found, seen, last, is_searching, handed;
  do
  :: found = 0;
    if
    :: word -> pop() // worker::poll
    :: else
    fi;
    if
    :: !found && own[me] > 0 -> own[me]--; found = 1
    :: else
    fi;
    if
    :: found
    :: else ->
      if
      :: is_searching
      :: else -> // searchers::try_join
        if
        :: searching >= 1
        :: else -> searching++; is_searching = 1
        fi
      fi;
      handed = 0;
      if
      :: is_searching -> search()
      :: else
      fi
    fi;
    if
    :: found && is_searching -> found_work()
    :: found && !is_searching
    :: !found -> park(); goto again
    fi;
    if
    :: true      // the task ends
    :: goto busy // it never does
    fi;
again:
    handed = 0
  od;
busy:
end_busy:
  false
}

// When nothing can move any more: does a task wait while a worker sleeps, or while the word does not say so?
proctype monitor() {
  byte i;
  bool sleeps;
  timeout -> d_step {
    do
    :: i < WORKERS -> sleeps = sleeps || asleep[i]; i++
    :: else -> break
    od
  }
  assert(!(queue > 0 && sleeps));
  assert(!(queue > 0 && !word))
}

init {
  byte t;
  atomic {
    do
    :: t < WORKERS -> run memory(t); run worker(t); t++
    :: t >= WORKERS && t < WORKERS + PRODUCERS -> run memory(t); run producer(t); t++
    :: else -> break
    od;
    run monitor()
  }
}

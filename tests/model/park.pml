// Parking (engine/src/idle/wake_ups.hpp, sleepers.hpp, idle.cpp; worker.cpp: run, poll; searcher.cpp): no task
// waits while a worker sleeps.
//
// check: pass
// check: pass -DSEARCHERS_MAX=2
// check: pass -DPUSHES=1 -DCHILDREN=1
// check: pass -DPUSHES=0 -DBATCHES=1
// check: pass -DWORKERS=2 -DPRODUCERS=2 -DPUSHES=1 -DCHILDREN=1
// check: pass -DWORKERS=2 -DPUSHES=3
// check: pass -DWORKERS=2 -DSTRAYS=1
// check: pass -DWORKERS=2 -DPRODUCERS=1 -DPUSHES=2 -DBATCHES=1 -DNO_STEALING
// check: fail -DNO_FENCE
// check: fail -DNO_WORKER_FENCE
// check: fail -DNO_RECHECK
// check: fail -DWORKERS=2 -DPRODUCERS=1 -DPUSHES=2 -DBATCHES=1 -DNO_STEALING -DKEEP_TO_OWN_WORK
// check: fail -DWORKERS=2 -DNO_RULE_2
// check: fail -DWORKERS=2 -DCOUNT_AFTER_TOKEN
// check: fail -DWORKERS=2 -DPRODUCERS=1 -DPUSHES=2 -DBATCHES=1 -DNO_STEALING -DCOUNT_AFTER_BIT
// check: fail -DWORKERS=2 -DSTRAYS=1 -DTRUST_TOKEN
// check: fail -DWORKERS=2 -DBATCHES=1 -DPUSHES=0 -DQUIET_BATCH
//
// One domain; there are no time-outs. Tasks come from outside (PUSHES by each producer, to an inbox) and from
// tasks (CHILDREN in all, to the own ring); BATCHES times two tasks wait in the injection queue. A task may
// never end, so a task in a queue behind it waits for another worker. `monitor` looks for sleepers when
// nothing can move any more.
//
// Memory: a thread's store to a queue lies in its store buffer until a fence, a read-modify-write of its own,
// or any time that the memory likes. Taking from a queue and the words of engine/src/idle are
// read-modify-writes. Each look at a word is a step of its own.
//
// NO_FENCE            P2 is missing: the producer looks for searchers before its task can be seen
// NO_WORKER_FENCE     W2 is missing: the worker may look at the queues before others can see its bit
// NO_RECHECK          the last searcher looks at its own queue only
// NO_STEALING         steal policy none: inboxes wake their owners, the injection queue wakes any worker
// KEEP_TO_OWN_WORK    a worker that was woken for the injection queue and finds work of its own does not wake
//                     another
// COUNT_AFTER_BIT     a worker is counted as parked after its bit is set: a waker that claims the bit in
//                     between counts down first, so that another sleeper is not seen
// NO_RULE_2           the last searcher that finds work does not wake another worker
// COUNT_AFTER_TOKEN   the waker counts the sleeper as a searcher after it left the token, not before
// TRUST_TOKEN         a sleeper with a token, whose bit was claimed, does not wait until it is counted: but
//                     the token may be a stray one, left for an earlier sleep (STRAYS come at any time)
// QUIET_BATCH         a worker that moves a batch from a shared queue into its ring, while it is no searcher,
//                     does not tell others

#ifndef WORKERS
#define WORKERS 3
#endif
#ifndef PUSHES
#define PUSHES 2
#endif
#ifndef CHILDREN
#define CHILDREN 0
#endif
#ifndef BATCHES
#define BATCHES 0
#endif
#ifndef SEARCHERS_MAX
#define SEARCHERS_MAX 1
#endif
#ifndef STRAYS
#define STRAYS 0
#endif
#ifndef PRODUCERS
#define PRODUCERS 1
#endif
#define GOAL(thread) ((thread) % WORKERS) // a worker's own ring; an inbox

byte queue[WORKERS];                // tasks that others can see
bool buffered[WORKERS + PRODUCERS]; // in the thread's store buffer: a task on its way to the queue GOAL(thread)
byte injection;                     // behind a lock
bool parked_bit[WORKERS];
short parked;
short searching;
bool token[WORKERS];
bool counted[WORKERS];
byte strays = STRAYS;
bool asleep[WORKERS];
byte to_push[PRODUCERS] = PUSHES;
byte to_spawn = CHILDREN;
byte to_inject = BATCHES;

// --- memory

// Part of a step: a fence or a read-modify-write of the thread does this first.
inline flush(thread) {
  if
  :: buffered[thread] -> queue[GOAL(thread)]++; buffered[thread] = 0
  :: else
  fi
}

inline store_task(thread) {
  d_step { flush(thread); buffered[thread] = 1 }
}

// A thread's store leaves its buffer at any time.
proctype memory(byte t) {
end:
  do
  :: d_step { buffered[t] -> queue[GOAL(t)]++; buffered[t] = 0 }
  od
}

// --- the producer's side

// searchers::join, sleepers::call. Without stray tokens it is one step: the sleeper sees both stores or none.
inline count_and_token(w) {
#if STRAYS == 0
  d_step { searching++; counted[w] = 1; token[w] = 1 }
#else
  searching++;
  counted[w] = 1;
  token[w] = 1
#endif
}

// idle_rules::wake_in_domain: over all workers, each bit a word of its own
inline wake_in_domain(thread) {
  i = 0;
  do
  :: i == WORKERS -> break
  :: else ->
    d_step { // worker_bits::test and claim
      won = parked_bit[i];
      if
      :: won -> flush(thread); parked_bit[i] = 0
      :: else
      fi
    }
    if
    :: won ->
      parked--;
#ifdef COUNT_AFTER_TOKEN
      d_step { counted[i] = 1; token[i] = 1 }
      searching++;
#else
      count_and_token(i);
#endif
      break
    :: else -> i++
    fi
  od;
  atomic { i = 0; won = 0 }
}

// wake_ups::wake, where workers do not steal: wakes that worker, or any for the injection queue
inline wake_owner(thread) {
  d_step {
    won = parked_bit[GOAL(thread)];
    parked_bit[GOAL(thread)] = 0
  }
  if
  :: won ->
    parked--;
    count_and_token(GOAL(thread));
    won = 0
  :: else ->
    if
    :: injection > 0 -> wake_in_domain(thread)
    :: else
    fi
  fi
}

// wake_ups::notify_pushed
inline notify_pushed(thread) {
#ifndef NO_FENCE
  d_step { flush(thread) } // P2
#endif
#ifdef NO_STEALING
  if
  :: parked == 0
  :: else -> wake_owner(thread)
  fi
#else
  if
  :: parked == 0
  :: else ->
    if
    :: searching != 0 // P3
    :: else -> wake_in_domain(thread) // P4
    fi
  fi
#endif
}

proctype producer(byte me) {
  byte i;
  bool won;
  do
  :: d_step { to_push[me - WORKERS] > 0 -> to_push[me - WORKERS]-- }
    store_task(me); // P1
    notify_pushed(me)
  :: d_step { to_inject > 0 -> to_inject--; injection = injection + 2 } // injection_queue::push
    notify_pushed(me)
  :: to_push[me - WORKERS] == 0 && to_inject == 0 -> break
  od
}

// --- the worker's side

// Takes up to half of a queue that others see; `rest`: whether one more came along, which goes to the own
// ring.
inline take_half(from) {
  d_step {
    count = (from + 1) / 2;
    assert(count <= 2);
    from = from - count;
    found = count > 0;
    rest = count > 1;
    count = 0
  }
}

// task_supply::take_injected: a batch of up to two
inline take_injected() {
#if BATCHES != 0
  d_step {
    if
    :: injection >= 2 -> injection = injection - 2; found = 1; rest = 1
    :: injection == 1 -> injection = 0; found = 1
    :: else
    fi
  }
#else
  skip
#endif
}

// task_supply::push_all_but_first
inline keep() {
  if
  :: rest ->
    rest = 0;
    store_task(me);
#ifndef QUIET_BATCH
    if
    :: is_searching // found_work looks after it
    :: else -> notify_pushed(me)
    fi
#endif
  :: else
  fi
}

// worker::poll: own work, then the injection queue
inline poll() {
  d_step {
    flush(me);
    if
    :: queue[me] > 0 -> queue[me]--; found = 1
    :: else
    fi
  }
  if
  :: found
  :: else -> take_injected(); keep()
  fi
}

// searchers::try_join
inline try_search() {
#ifndef NO_STEALING
  if
  :: searching >= SEARCHERS_MAX
  :: else -> searching++; is_searching = 1
  fi
#else
  skip
#endif
}

// searcher::steal, as often as it likes
inline steal() {
  do
  :: i = 0;
    do
    :: found || i == WORKERS -> break
    :: !found && i < WORKERS && i != me -> take_half(queue[i]); i++
    :: i == me -> i++
    od;
    i = 0;
    if
    :: found
    :: else -> take_injected()
    fi;
    if
    :: found -> break
    :: !found -> break
    :: !found // another round
    fi
  od;
  keep()
}

// Sets `seen` when a task waits anywhere, the injection queue first.
inline look() {
#if BATCHES != 0
  seen = injection > 0;
#endif
  do
  :: seen || i == WORKERS -> break
  :: else -> seen = queue[i] > 0; i++
  od;
  i = 0
}

// idle_workers::found_work
inline found_work() {
  d_step { flush(me); searching--; last = searching == 0; is_searching = 0 }
#ifdef NO_RULE_2
  last = 0;
#endif
#ifdef NO_STEALING
#ifndef KEEP_TO_OWN_WORK
  if
  :: parked > 0 && injection > 0 -> wake_in_domain(me)
  :: else
  fi;
#endif
  last = 0;
#endif
  if
  :: !last || parked == 0
  :: else ->
    look();
    if
    :: seen -> wake_in_domain(me)
    :: else
    fi
  fi;
  d_step { seen = 0; last = 0 }
}

// idle_workers::park
inline park() {
  last = 1;
#ifdef NO_WORKER_FENCE
  look();
#endif
#ifdef COUNT_AFTER_BIT
  d_step { flush(me); parked_bit[me] = 1 }
  parked++;
#else
  d_step { flush(me); parked++ } // W1
  parked_bit[me] = 1;
#endif
  if
  :: is_searching -> d_step { searching--; last = searching == 0; is_searching = 0 }
  :: else
  fi;
  // W2
#ifdef NO_RECHECK
  last = 0;
#endif
#ifdef NO_STEALING
  seen = queue[me] > 0 || injection > 0; // wake_ups::work_for
#else
  if
  :: last -> // W3
#ifndef NO_WORKER_FENCE
    look()
#endif
  :: else -> seen = queue[me] > 0
  fi;
#endif
  d_step {
    won = 0;
    if
    :: seen && parked_bit[me] -> parked_bit[me] = 0; won = 1
    :: else
    fi
  }
  if
  :: won -> parked--; searching++ // sleepers::claim_itself, searchers::join
  :: else ->
    d_step { seen = 0; last = 0; asleep[me] = 1 }
end_asleep:
#if STRAYS == 0
    // W4: the token is that of the waker that claimed the bit and has counted this worker.
    d_step { token[me] -> assert(counted[me] && !parked_bit[me]); token[me] = 0; asleep[me] = 0; counted[me] = 0 }
#else
    d_step { token[me] -> token[me] = 0; asleep[me] = 0 } // W4
    d_step { won = parked_bit[me]; parked_bit[me] = 0 }
    if
    :: won -> parked--; searching++ // a stray token; sleepers::claim_itself
    :: else ->
#ifndef TRUST_TOKEN
      counted[me];
#endif
      counted[me] = 0
    fi
#endif
  fi;
  d_step { seen = 0; last = 0; won = 0; is_searching = 1 }
}

// worker::run
proctype worker(byte me) {
  byte i, count;
  bool won, found, rest, seen, last, is_searching;
  do
  :: poll();
    if
    :: found
    :: else ->
      if
      :: is_searching
      :: else -> try_search()
      fi;
      if
#ifndef NO_STEALING
      :: is_searching -> steal()
#endif
      :: else
      fi
    fi;
    if
    :: found && is_searching -> found_work()
    :: found && !is_searching
    :: !found -> park(); goto again
    fi;
    found = 0;
    do
    :: d_step { to_spawn > 0 -> to_spawn-- } store_task(me); notify_pushed(me) // the task spawns
    :: break                                                               // it ends
    :: goto busy                                                           // it never ends
    od;
again:
    skip
  od;
busy:
end_busy:
  false
}

// Tokens for sleeps that are over (sleepers::nudge, end).
proctype stray() {
end:
  do
  :: d_step { strays > 0 -> strays--; token[0] = 1 }
  od
}

// When nothing can move any more: does a task wait while a worker sleeps?
proctype monitor() {
  byte i;
  bool waits, sleeps;
  timeout -> d_step {
    waits = injection > 0;
    do
#ifdef NO_STEALING
    :: i < WORKERS -> assert(!(queue[i] > 0 && asleep[i])); sleeps = sleeps || asleep[i]; i++
#else
    :: i < WORKERS -> waits = waits || queue[i] > 0; sleeps = sleeps || asleep[i]; i++
#endif
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
    :: t >= WORKERS && t < WORKERS + PRODUCERS -> run memory(t); run producer(t); t++
    :: else -> break
    od;
    if
    :: strays > 0 -> run stray()
    :: else
    fi;
    run monitor()
  }
}

// Tasks that wait in one domain beside sleepers of another (engine/src/idle/searchers.hpp, F1 to G3;
// policies/idle_rules.hpp: wake_farther, wake_for_rest, sees_work).
//
// check: pass -DBUSY -DPUSHES=3
// check: pass -DBUSY -DPUSHES=3 -DSEARCHERS_MAX=2
// check: pass -DBUSY -DPUSHES=1 -DBATCHES=1
// check, long: pass -DBUSY -DASLEEP -DENDLESS -DPUSHES=2 -DPRODUCERS=2
// check: pass -DPUSHES=1
// check: pass -DASLEEP -DPUSHES=2 -DSEARCHERS_MAX=2
// check: pass -DASLEEP -DENDLESS -DPUSHES=3
// check, long: pass -DBUSY -DASLEEP -DENDLESS -DWORKERS=4 -DPUSHES=3
// check: fail -DBUSY -DPUSHES=3 -DNO_ASK
// check: fail -DBUSY -DPUSHES=3 -DASK_APART
// check: fail -DBUSY -DPUSHES=1 -DBATCHES=1 -DQUIET_WAKE
// check: fail -DBUSY -DPUSHES=3 -DSEARCHERS_MAX=2 -DQUIET_PARK
// check: fail -DBUSY -DPUSHES=3 -DSEARCHERS_MAX=2 -DASK_ANYBODY
// check: fail -DBUSY -DPUSHES=3 -DCLEAR_LATE
// check: fail -DBUSY -DASLEEP -DENDLESS -DWORKERS=4 -DPUSHES=3 -DNOT_AGAIN
// check: fail -DBUSY -DPUSHES=3 -DFORGET
// check: fail -DBUSY -DPUSHES=3 -DNO_FENCE
// check: pass -DLONG -DBUSY -DPUSHES=3
// check: pass -DLONG -DBUSY -DPUSHES=3 -DSEARCHERS_MAX=2
// check: pass -DLONG -DBUSY -DPUSHES=1 -DBATCHES=1
// check: pass -DLONG -DASLEEP -DPUSHES=2 -DSEARCHERS_MAX=2
// check: pass -DLONG -DASLEEP -DENDLESS -DPUSHES=3
// check, long: pass -DLONG -DBUSY -DASLEEP -DENDLESS -DWORKERS=4 -DPUSHES=3
// check: fail -DLONG -DBUSY -DPUSHES=3 -DNO_FENCE
// check: fail -DLONG -DASLEEP -DENDLESS -DPUSHES=3 -DNEAR_ONLY
//
// Domain 0 has worker 0, domain 1 the others; a single task is enough for workers of the other domain to take
// it. PUSHES tasks come from each producer, to an inbox of either domain; BATCHES times two tasks come to
// domain 0 and are announced once. A task may never end. park.pml has the details of memory, and of sleeping
// and searching in one domain: here a look at a domain's queues or at its parked bits is one step, and so are
// the steps that retire.pml merges.
//
// BUSY                worker 0 is in a task that never ends from the beginning
// ASLEEP              the others sleep at the beginning
// ENDLESS             no task ends
// LONG                a single task is enough as these take long, and only where no worker of its domain sleeps or
//                     searches (idle_rules::worth_the_way); the looks are steps of their own
// NEAR_ONLY           a worker that has found something wakes others of its own domain only
// SEARCHERS_MAX       how many workers of a domain search at once
// NO_ASK              no worker asks
// ASK_APART           the mark is no part of the word that counts searchers, and is set after the searchers
//                     have been seen
// QUIET_WAKE          only workers that search already are asked, not the woken one
// QUIET_PARK          a searcher that is not the last goes to sleep without asking the others
// ASK_ANYBODY         it asks, but does not look for itself when no worker is left that was asked
// CLEAR_LATE          the mark is cleared when the other domain has been looked at
// NOT_AGAIN           a worker that finds that something waits there wakes another of its domain, and does
//                     not ask it
// FORGET              the last searcher is about to sleep, clears the mark, sees something and goes on, and
//                     does not ask itself
// NO_FENCE            P2 is missing: the producer looks for searchers before its task can be seen

#ifndef PUSHES
#define PUSHES 2
#endif
#ifndef BATCHES
#define BATCHES 0
#endif
#ifndef PRODUCERS
#define PRODUCERS 1
#endif
#ifndef SEARCHERS_MAX
#define SEARCHERS_MAX 1
#endif
#ifndef WORKERS
#define WORKERS 3
#endif
#define THREADS (WORKERS + PRODUCERS)
#define NONE WORKERS
#define domain_of(w) ((w) != 0)
#define other(d) (1 - (d))
#if WORKERS == 4
#define sleeps_in(d) ((d) == 0 -> parked_bit[0] : parked_bit[1] || parked_bit[2] || parked_bit[3])
#define waits_in(d) ((d) == 0 -> queue[0] > 0 : queue[1] + queue[2] + queue[3] > 0)
#else
#define sleeps_in(d) ((d) == 0 -> parked_bit[0] : parked_bit[1] || parked_bit[2])
#define waits_in(d) ((d) == 0 -> queue[0] > 0 : queue[1] + queue[2] > 0)
#endif

byte queue[WORKERS];
bool parked_bit[WORKERS];
byte parked;
byte searching[2]; // one word with `asked`
bool asked[2];
bool woken[WORKERS]; // counted as a searcher, and the token left
bool asleep[WORKERS];
byte to_batch = BATCHES;

// --- memory

#ifdef NO_FENCE
byte buffered[THREADS] = NONE; // in the thread's store buffer: a task on its way to that queue

inline flush(thread) {
  if
  :: buffered[thread] != NONE -> queue[buffered[thread]]++; buffered[thread] = NONE
  :: else
  fi
}

inline put(thread, to) {
  flush(thread);
  buffered[thread] = to
}

proctype memory(byte t) {
end:
  do
  :: d_step { buffered[t] != NONE -> queue[buffered[t]]++; buffered[t] = NONE }
  od
}
#else
#define flush(thread) skip
#define put(thread, to) queue[to]++ // F1, P2
#endif

// --- what waits in another domain

// idle_rules::worth_the_way: `seen` when a worker of the other domain may take what waits in d
inline look_afar(d) {
  seen = waits_in(d);
#ifdef LONG
  if
  :: seen -> seen = searching[d] == 0
  :: else
  fi;
  if
  :: seen -> seen = !sleeps_in(d)
  :: else
  fi
#endif
}

// --- the worker that it wakes

// searchers::ask_to_look_elsewhere: `yes` when a worker searches there
inline ask(d) {
#ifdef NO_ASK
  yes = searching[d] != 0
#elif defined(ASK_APART)
  yes = searching[d] != 0;
  asked[d] = 1
#else
  d_step { yes = searching[d] != 0; done = asked[d] }
  if
  :: done
  :: else ->
    d_step {
      flush(me);
      yes = searching[d] != 0;
#ifdef QUIET_WAKE
      asked[d] = yes
#else
      asked[d] = 1
#endif
    }
  fi;
  done = 0
#endif
}

// searchers::take_request: `yes` when the mark was taken back
inline was_asked(d) {
  d_step {
    yes = asked[d] && searching[d] == 0;
    if
    :: yes ->
      flush(me);
#ifndef CLEAR_LATE
      asked[d] = 0
#endif
    :: else
    fi
  }
}

// wake_ups::wake_any: the lowest of domain d
inline wake_in(d) {
  d_step {
    won = sleeps_in(d);
    if
    :: won ->
      flush(me);
      i = d;
      do
      :: parked_bit[i] -> break
      :: else -> i++
      od;
      parked_bit[i] = 0
    :: else
    fi
  }
  if
  :: won -> d_step { parked--; searching[d]++; woken[i] = 1; i = 0 }
  :: else
  fi
}

// idle_rules::wake_farther: wakes a worker of the other domain for what waits in d
inline wake_farther(d) {
  if
  :: !sleeps_in(other(d)) // can_wake
  :: else ->
    look_afar(d);
    if
    :: !seen
    :: else ->
      seen = 0;
      ask(other(d));
      if
      :: yes
      :: else -> wake_in(other(d))
      fi;
      d_step { yes = 0; won = 0 }
    fi
  fi
}

inline wake_in_or_farther(d) {
  wake_in(d);
  if
  :: won
  :: else -> wake_farther(d)
  fi;
  won = 0
}

// wake_ups::notify_pushed
inline notify_pushed(d) {
  if
  :: parked == 0
  :: else ->
    if
    :: searching[d] != 0
    :: else -> wake_in_or_farther(d)
    fi
  fi
}

proctype producer(byte me) {
  byte i, to, pushes;
  bool won, seen, yes, done;
  do
  :: pushes < PUSHES ->
    atomic {
      pushes++;
      if
      :: to = 0
      :: to = 1
      fi;
      put(me, to)
    }
    notify_pushed(domain_of(to));
    to = 0
  :: d_step { to_batch > 0 -> to_batch--; flush(me); queue[0] = queue[0] + 2 }
    notify_pushed(0)
  :: pushes == PUSHES && to_batch == 0 -> break
  od
}

// --- a worker

// Takes half of what waits for a worker in domain d; all of it but one task goes to the own queue.
inline take_from(d) {
  d_step {
    found = waits_in(d);
#ifdef LONG
    if
    :: d != domain_of(me) && (searching[d] != 0 || sleeps_in(d)) -> found = 0
    :: else
    fi;
#endif
    if
    :: found ->
      i = d;
      do
      :: queue[i] > 0 -> break
      :: else -> i++
      od;
      rest = (queue[i] + 1) / 2;
      queue[i] = queue[i] - rest;
      rest--;
      i = 0
    :: else
    fi
  }
}

// searcher::search, as often as it likes
inline search(d) {
  if
  :: !is_searching && searching[d] < SEARCHERS_MAX -> // two may pass at once
    d_step { flush(me); searching[d]++; is_searching = 1 }
  :: else
  fi;
  if
  :: !is_searching
  :: else ->
    do
    :: found -> break
    :: !found -> break
    :: !found -> take_from(d)
    :: !found -> take_from(other(d))
    od;
    flush(me);
    d_step { queue[me] = queue[me] + rest; rest = 0 } // task_supply::push_all_but_first
  fi
}

// idle_rules::wake_for_other_domains
inline pass_others_on(d) {
  if
  :: searching[other(d)] != 0 // they look after it
  :: else -> look_afar(other(d))
  fi;
#ifdef CLEAR_LATE
  asked[d] = 0;
#endif
  if
  :: !seen
  :: else ->
    seen = 0;
#ifndef NOT_AGAIN
    ask(d);
    yes = 0;
#endif
    wake_in(d);
    if
    :: won -> won = 0
    :: else -> wake_farther(other(d))
    fi
  fi
}

// idle_workers::found_work and idle_rules::wake_for_rest
inline found_work(d) {
  d_step { flush(me); searching[d]--; last = searching[d] == 0; is_searching = 0 } // G1
  if
  :: !last || parked == 0
  :: else ->
    if
#ifdef NEAR_ONLY
    :: waits_in(d) -> wake_in(d); won = 0
#else
    :: waits_in(d) -> wake_in_or_farther(d)
#endif
    :: else
    fi;
    was_asked(d); // G2
    if
    :: yes -> yes = 0; pass_others_on(d) // G3
    :: else
    fi
  fi;
  d_step { last = 0; seen = 0 }
}

// idle_rules::sees_work
inline stays(d) {
  if
  :: last
  :: else ->
#ifdef QUIET_PARK
    yes = 1;
#else
    ask(d);
#endif
#ifdef ASK_ANYBODY
    yes = 1;
#endif
    last = !yes
  fi;
  yes = 0;
  if
  :: !last -> seen = queue[me] > 0
  :: else ->
    was_asked(d);
    seen = waits_in(d);
    if
    :: seen
    :: else -> look_afar(other(d))
    fi;
#ifdef CLEAR_LATE
    if
    :: yes -> asked[d] = 0
    :: else
    fi;
#endif
#ifndef FORGET
    if
    :: seen && yes -> ask(d)
    :: else
    fi;
#endif
    yes = 0
  fi
}

// idle_workers::park and sleep
inline park(d) {
  last = 1;
  d_step { flush(me); parked++ }
  parked_bit[me] = 1; // W1
  if
  :: is_searching -> d_step { searching[d]--; last = searching[d] == 0; is_searching = 0 }
  :: else
  fi;
  // W2
  stays(d); // W3
  if
  :: d_step { seen && parked_bit[me] -> parked_bit[me] = 0 }
    parked--;
    searching[d]++ // sleepers::claim_itself, searchers::join
  :: !seen || !parked_bit[me] ->
    d_step { seen = 0; last = 0 }
sleeps:
    asleep[me] = 1;
end_asleep:
    d_step { woken[me] -> woken[me] = 0; asleep[me] = 0 } // W4
  fi;
  d_step { seen = 0; last = 0; is_searching = 1 }
}

// worker::run
proctype worker(byte me) {
  byte i, rest;
  bool won, found, seen, yes, done, last, is_searching;
#ifdef ASLEEP
  goto sleeps;
#endif
  do
  :: d_step { // worker::poll
      flush(me);
      found = queue[me] > 0;
      queue[me] = queue[me] - found
    }
    if
    :: found
    :: else -> search(domain_of(me))
    fi;
    if
    :: found && is_searching -> found_work(domain_of(me))
    :: found && !is_searching
    :: !found -> park(domain_of(me)); goto again
    fi;
    found = 0;
    if
#ifndef ENDLESS
    :: true // the task ends
#endif
    :: goto busy // it never ends
    fi;
again:
    skip
  od;
busy:
end_busy:
  false
}

// When nothing can move any more: does a task wait while a worker sleeps?
proctype monitor() {
  byte i;
  bool waits, sleeps;
  timeout -> d_step {
    i = 0;
    do
    :: i < WORKERS -> waits = waits || queue[i] > 0; sleeps = sleeps || asleep[i]; i++
    :: else -> break
    od
  }
  assert(!(waits && sleeps))
}

init {
  byte t;
  atomic {
#ifdef NO_FENCE
    do
    :: t < THREADS -> run memory(t); t++
    :: else -> t = 0; break
    od;
#endif
#ifdef BUSY
    t = 1;
#endif
    do
    :: t < WORKERS ->
#ifdef ASLEEP
      parked_bit[t] = 1;
      parked++;
#endif
      run worker(t);
      t++
    :: t >= WORKERS && t < THREADS -> run producer(t); t++
    :: else -> t = 0; break
    od;
    run monitor()
  }
}

// Parking as the description of Volt prints it, and as this engine does it, of a worker with a LIFO slot that
// other threads may fill.
//
// check: fail
// check: pass -DTIMEOUT
// check: pass -DFENCED
// check: fail -DFENCED -DNO_FENCE
// check: pass -DOWNER_ONLY
// check: fail -DOWNER_ONLY -DNO_FENCE
//
// One worker goes to sleep while another thread gives it a task. As printed, the worker announces this by a
// flag, moves the task in its slot to its ring, looks once more and sleeps; a waker that sees the flag uses
// the global queue instead of the slot and wakes the worker. But a waker may have read the flag before it was
// set, and fill the slot of a sleeper.
//
// TIMEOUT      the worker sleeps for 10 ms at most, which rescues the printed protocol
// FENCED       the waker reads the worker's parked bit after it has filled the slot, behind a fence, and
//              wakes it
// OWNER_ONLY   this engine: only the owner fills its slot; other threads use its inbox, and read the bit
//              behind a fence (wake_ups.hpp: P2)
// NO_FENCE     without that fence: the task may be seen only after the bit was read
//
// Memory: the waker's store lies in its buffer until a fence, or any time that the memory likes. The worker's
// words are read-modify-writes.

bool about_to_park; // transitioning_to_park
bool parked_bit;
bool token;
bool slot;
bool shared; // the global queue, or the inbox: where the worker looks before it sleeps
bool slot_buffered;
bool shared_buffered;
bool run_it;
bool asleep;

inline flush() {
  slot = slot || slot_buffered;
  shared = shared || shared_buffered;
  slot_buffered = 0;
  shared_buffered = 0
}

active proctype memory() {
end:
  do
  :: d_step { slot_buffered || shared_buffered -> flush() }
  od
}

inline wake_if_parked() {
  d_step {
    seen = parked_bit;
    if
    :: seen -> flush(); parked_bit = 0; token = 1
    :: else
    fi
  }
}

active proctype waker() {
  bool seen;
#ifdef OWNER_ONLY
  shared_buffered = 1; // P1
#ifndef NO_FENCE
  d_step { flush() } // P2
#endif
  wake_if_parked()
#else
  seen = about_to_park;
  if
  :: seen -> d_step { flush(); shared = 1 } // behind a lock
    token = 1 // whether it sleeps yet or not
  :: else ->
    slot_buffered = 1;
#ifdef FENCED
#ifndef NO_FENCE
    d_step { flush() }
#endif
    wake_if_parked()
#endif
  fi
#endif
}

inline look() {
  d_step {
    found = slot || shared;
    slot = 0;
    shared = 0
  }
  run_it = run_it || found
}

active proctype worker() {
  bool found;
  do
  :: look(); // its own work
    about_to_park = 1;
    look(); // flush the slot, check again
#ifdef FENCED
    parked_bit = 1; // and then the last look
    look();
#else
#ifdef OWNER_ONLY
    parked_bit = 1;
    look();
#else
    parked_bit = 1;
#endif
#endif
    if
    :: found -> parked_bit = 0
    :: else ->
      asleep = 1;
end_asleep:
      if
      :: d_step { token -> token = 0; asleep = 0 }
#ifdef TIMEOUT
      :: d_step { slot || shared -> asleep = 0 }
#endif
      fi;
      parked_bit = 0
    fi;
    found = 0;
    about_to_park = 0
  od
}

active proctype monitor() {
  timeout -> assert(!(asleep && (slot || shared)))
}

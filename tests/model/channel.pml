// Senders and receivers that pass each other in a channel (engine/include/corewise/engine/detail/channel_end.hpp,
// channel.hpp: put_alone, take_alone, put, take, put_back).
//
// check: pass
// check: pass -DROOM=2
// check: pass -DSENDERS=2 -DVALUES=1
// check: pass -DROOM=2 -DRECEIVERS=1 -DSENDERS=2
// check: fail -DUNMARKED_RECEIVER
// check: fail -DUNMARKED_SENDER
// check: fail -DWAITS_ALONE
// check: fail -DRECEIVERS=1 -DPUBLISHED_EARLY
// check: fail -DSENDING_FIRST
// check: fail -DROOM=2 -DSEEN_EARLY
// check: fail -DROOM=2 -DNOT_SEEN
// check: fail -DRECEIVERS=2 -DTAKEN_UNSEEN
//
// SENDERS threads send VALUES values each into a ring of ROOM, RECEIVERS threads receive them all. Each receiver
// gives one value back at most, as a wait that is told to stop. The thread that has received the last value destroys the
// channel, if it is the only receiver. A coroutine that waits is its thread here, which goes on when it was granted something. The word of an
// end is published when the end is unlocked: its position, and whether coroutines wait at the other end.
//
// UNMARKED_RECEIVER  a receiver that waits does not mark the sending end
// UNMARKED_SENDER    a sender that waits does not mark the receiving end
// WAITS_ALONE        a receiver waits with the receiving end locked alone
// PUBLISHED_EARLY    a sender publishes its position before it unlocks
// SENDING_FIRST      a thread that holds both ends unlocks the sending one first
// SEEN_EARLY         such a thread lets the receiving end see its value before it publishes it
// NOT_SEEN           a thread that changes a position under both locks leaves what the sending end has seen of the
//                    receiving end as it was
// TAKEN_UNSEEN       likewise what the receiving end has seen of the sending end

#ifndef ROOM
#define ROOM 1
#endif
#ifndef SENDERS
#define SENDERS 1
#endif
#ifndef RECEIVERS
#define RECEIVERS 2
#endif
#ifndef VALUES
#define VALUES 3
#endif
#define ALL (SENDERS * VALUES)
#define THREADS (SENDERS + RECEIVERS)
#define NONE 255

bool locked_s, locked_r;
byte sent = 8, taken = 8;   // the published positions
bool marked_s, marked_r;    // coroutines wait at the other end
byte seen_taken = 8, seen_sent = 8; // what each end has seen of the other
byte place_s, place_r;      // of the holders

byte ring[ROOM] = NONE;
#define TO_SEND 0
#define TO_RECEIVE 3
byte waits[6] = NONE; // the waiting senders, in order; and the receivers
byte value_of[THREADS] = NONE; // what a waiter sends, or has received
bool granted[THREADS];

byte last_of[SENDERS]; // the last value of each sender that came, where there is one receiver
byte received;
bool given_back[THREADS];
bool destroyed;

inline touch() { assert(!destroyed) }
inline lock_s() { touch(); atomic { !locked_s -> locked_s = 1 } }
inline lock_r() { touch(); atomic { !locked_r -> locked_r = 1 } }
inline unlock_s(position, mark) { d_step { touch(); sent = position; marked_s = mark; locked_s = 0 } }
inline unlock_r(position, mark) { d_step { touch(); taken = position; marked_r = mark; locked_r = 0 } }

inline lock_both() {
  lock_s();
  lock_r();
#ifndef TAKEN_UNSEEN
  seen_sent = sent
#endif
}
inline unlock_both(s, r) {
  d_step {
#ifndef NOT_SEEN
    seen_taken = r;
#endif
#ifdef SEEN_EARLY
    seen_sent = s;
#endif
#ifdef UNMARKED_RECEIVER
    mark_s = 0;
#else
    mark_s = waits[TO_RECEIVE] != NONE;
#endif
#ifdef UNMARKED_SENDER
    mark_r = 0
#else
    mark_r = waits[TO_SEND] != NONE
#endif
  }
#ifdef SENDING_FIRST
  unlock_s(s, mark_s);
  unlock_r(r, mark_r)
#else
  unlock_r(r, mark_r);
  unlock_s(s, mark_s)
#endif
}

inline push(list, me) {
  d_step {
    if
    :: waits[list] == NONE -> waits[list] = me
    :: else -> waits[list + 1] = me
    fi
  }
}
inline pop(list) {
  d_step {
    other = waits[list];
    waits[list] = waits[list + 1];
    waits[list + 1] = NONE
  }
}
inline put_here(v) {
  d_step {
    assert(ring[place_s] == NONE);
    ring[place_s] = v;
    place_s = (place_s + 1) % ROOM
  }
}
inline take_here(v) {
  d_step {
    v = ring[place_r];
    assert(v != NONE);
    ring[place_r] = NONE;
    place_r = (place_r + 1) % ROOM
  }
}

proctype sender(byte me) {
  byte n, other;
  bool can, mark_s, mark_r;
  do
  :: n == VALUES -> break
  :: n < VALUES ->
    // put_alone
    lock_s();
    can = !marked_s;
    if
    :: can && sent - seen_taken == ROOM ->
      touch();
      seen_taken = taken;
      can = sent - seen_taken != ROOM
    :: else
    fi;
    if
    :: can ->
      put_here(me * VALUES + n);
#ifdef PUBLISHED_EARLY
      sent++;
      unlock_s(sent, marked_s)
#else
      unlock_s(sent + 1, marked_s)
#endif
    :: else ->
      unlock_s(sent, marked_s);
      // put
      lock_both();
      other = NONE;
      if
      :: waits[TO_RECEIVE] != NONE ->
        pop(TO_RECEIVE);
        unlock_both(sent, taken);
        value_of[other] = me * VALUES + n;
        granted[other] = 1
      :: waits[TO_RECEIVE] == NONE && sent - taken != ROOM ->
        put_here(me * VALUES + n);
        unlock_both(sent + 1, taken)
      :: else ->
        value_of[me] = me * VALUES + n;
        push(TO_SEND, me);
        unlock_both(sent, taken);
        d_step { granted[me] -> granted[me] = 0 }
      fi
    fi;
    n++
  od
}

inline note(v) {
  d_step {
#if RECEIVERS == 1
    assert(last_of[v / VALUES] == v % VALUES);
    last_of[v / VALUES]++;
#endif
    received++;
    assert(received <= ALL);
    destroyed = RECEIVERS == 1 && received == ALL // else another may wait
  }
}

proctype receiver(byte me) {
  byte other, v;
  bool can, mark_s, mark_r;
  do
  :: RECEIVERS == 1 && received == ALL -> break
  :: RECEIVERS != 1 || received != ALL ->
    // take_alone
    lock_r();
    can = !marked_r;
    if
    :: can && seen_sent == taken ->
      touch();
      seen_sent = sent;
      can = seen_sent != taken
    :: else
    fi;
    if
    :: can ->
      take_here(v);
      unlock_r(taken + 1, marked_r)
    :: else ->
      unlock_r(taken, marked_r);
      // take
#ifdef WAITS_ALONE
      lock_r();
      if
      :: waits[TO_SEND] == NONE && sent == taken ->
        push(TO_RECEIVE, me);
        marked_s = 1;
        unlock_r(taken, marked_r);
        goto endwait
      :: else -> unlock_r(taken, marked_r)
      fi;
#endif
      lock_both();
      other = NONE;
      if
      :: sent != taken ->
        take_here(v);
        if
        :: waits[TO_SEND] != NONE ->
          pop(TO_SEND);
          put_here(value_of[other]);
          unlock_both(sent + 1, taken + 1);
          granted[other] = 1
        :: else -> unlock_both(sent, taken + 1)
        fi
      :: else -> // with room, no sender waits then
        assert(waits[TO_SEND] == NONE);
        push(TO_RECEIVE, me);
        unlock_both(sent, taken);
endwait:
        granted[me];
        d_step { granted[me] = 0; v = value_of[me]; value_of[me] = NONE }
      fi
    fi;
    if
    :: !given_back[me] ->
      // put_back
      given_back[me] = 1;
      lock_both();
      if
      :: waits[TO_RECEIVE] != NONE ->
        pop(TO_RECEIVE);
        unlock_both(sent, taken);
        value_of[other] = v;
        granted[other] = 1
      :: waits[TO_RECEIVE] == NONE && sent - taken != ROOM ->
        d_step {
          place_r = (place_r + ROOM - 1) % ROOM;
          assert(ring[place_r] == NONE);
          ring[place_r] = v
        }
        unlock_both(sent, taken - 1)
      :: else -> unlock_both(sent, taken); note(v)
      fi
    :: note(v)
    fi
  od
}

active proctype monitor() {
  timeout -> assert(received == ALL)
}

init {
  byte n;
  atomic {
    for (n : 0 .. SENDERS - 1) { run sender(n) }
    for (n : SENDERS .. THREADS - 1) { run receiver(n) }
    n = 0
  }
}

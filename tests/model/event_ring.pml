// The ring of a thread's newest events (engine/src/recording/event_ring.hpp): its thread writes over the oldest, a reader
// copies meanwhile.
//
// check: pass
// check: pass -DCAPACITY=3 -DEVENTS=7
// check: fail -DONE_MORE
// check: fail -DNO_SECOND_LOOK
// check: fail -DANNOUNCED_EARLY
// check: fail -DRELAXED_WORDS
//
// Event i has two words, both i + 1. A reader that keeps an event with other words has read it while it was written over.
//
// ONE_MORE          the reader keeps the event whose place the writer may be at work on
// NO_SECOND_LOOK    the reader does not look at the count again, after it has copied
// ANNOUNCED_EARLY   the writer announces an event before it has written it (tag *written* weakened)
// RELAXED_WORDS     a word may become visible before the count of the event before it (tag *word* weakened)

#ifndef CAPACITY
#define CAPACITY 2
#endif
#ifndef EVENTS
#define EVENTS 5
#endif

byte first[CAPACITY];
byte second[CAPACITY];
byte written;

active proctype writer() {
  byte i = 0;
  do
  :: i == EVENTS -> break
  :: i < EVENTS ->
#ifdef ANNOUNCED_EARLY
    written = i + 1;
#endif
    first[i % CAPACITY] = i + 1;
    second[i % CAPACITY] = i + 1;
#ifdef RELAXED_WORDS
    if
    :: i + 1 < EVENTS -> first[(i + 1) % CAPACITY] = i + 2
    :: true
    fi;
#endif
#ifndef ANNOUNCED_EARLY
    written = i + 1;
#endif
    i++
  od
}

active proctype reader() {
  byte end, from, now, whole, i;
  byte seen_first[EVENTS];
  byte seen_second[EVENTS];
  byte next = 0;
  do
  :: next == EVENTS -> break
  :: next < EVENTS ->
    end = written;
    from = (end > CAPACITY -> end - CAPACITY : 0);
    from = (next > from -> next : from);
    i = from;
    do
    :: i >= end -> break
    :: i < end ->
      seen_first[i] = first[i % CAPACITY];
      seen_second[i] = second[i % CAPACITY];
      i++
    od;
    now = written;
#ifdef NO_SECOND_LOOK
    now = end;
#endif
#if defined(ONE_MORE) || defined(NO_SECOND_LOOK)
    whole = (now >= CAPACITY -> now - CAPACITY : 0);
#else
    whole = (now >= CAPACITY -> now - CAPACITY + 1 : 0);
#endif
    i = (whole > from -> whole : from);
    do
    :: i >= end -> break
    :: i < end ->
      assert(seen_first[i] == i + 1 && seen_second[i] == i + 1);
      i++
    od;
    next = end
  od
}

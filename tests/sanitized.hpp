#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define COREWISE_SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define COREWISE_SANITIZED true
#endif
#endif
#ifndef COREWISE_SANITIZED
#define COREWISE_SANITIZED false
#endif
#ifdef __has_feature
#if __has_feature(undefined_behavior_sanitizer)
#define COREWISE_OBJECTS_CHECKED true
#endif
#endif
#ifndef COREWISE_OBJECTS_CHECKED
#define COREWISE_OBJECTS_CHECKED false
#endif

namespace corewise::tests {

/// Whether AddressSanitizer or ThreadSanitizer is in this program.
inline constexpr bool sanitized = COREWISE_SANITIZED;

/// Whether UndefinedBehaviorSanitizer checks objects: without descriptors it takes each for none.
inline constexpr bool objects_checked = COREWISE_OBJECTS_CHECKED;

/// Whether it is built for a processor that the tests emulate.
#ifdef COREWISE_EMULATED
inline constexpr bool emulated = true;
#else
inline constexpr bool emulated = false;
#endif

} // namespace corewise::tests

#undef COREWISE_SANITIZED
#undef COREWISE_OBJECTS_CHECKED

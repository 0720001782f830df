// SPDX-License-Identifier: Apache-2.0
//
// Clang thread-safety annotations (https://clang.llvm.org/docs/ThreadSafetyAnalysis.html).
// They compile to nothing elsewhere; the clang build turns violations into errors.
#pragma once

#if defined(__clang__)
#define FURROW_ANNOTATE(x) __attribute__((x))
#else
#define FURROW_ANNOTATE(x)
#endif

#define CAPABILITY(x) FURROW_ANNOTATE(capability(x))
#define SCOPED_CAPABILITY FURROW_ANNOTATE(scoped_lockable)
#define GUARDED_BY(x) FURROW_ANNOTATE(guarded_by(x))
#define PT_GUARDED_BY(x) FURROW_ANNOTATE(pt_guarded_by(x))
#define REQUIRES(...) FURROW_ANNOTATE(requires_capability(__VA_ARGS__))
#define REQUIRES_SHARED(...) FURROW_ANNOTATE(requires_shared_capability(__VA_ARGS__))
#define EXCLUDES(...) FURROW_ANNOTATE(locks_excluded(__VA_ARGS__))
#define ACQUIRE(...) FURROW_ANNOTATE(acquire_capability(__VA_ARGS__))
#define ACQUIRE_SHARED(...) FURROW_ANNOTATE(acquire_shared_capability(__VA_ARGS__))
#define RELEASE(...) FURROW_ANNOTATE(release_capability(__VA_ARGS__))
#define RELEASE_SHARED(...) FURROW_ANNOTATE(release_shared_capability(__VA_ARGS__))
#define RELEASE_GENERIC(...) FURROW_ANNOTATE(release_generic_capability(__VA_ARGS__))
#define TRY_ACQUIRE(...) FURROW_ANNOTATE(try_acquire_capability(__VA_ARGS__))
#define ACQUIRED_BEFORE(...) FURROW_ANNOTATE(acquired_before(__VA_ARGS__))
#define ACQUIRED_AFTER(...) FURROW_ANNOTATE(acquired_after(__VA_ARGS__))
#define RETURN_CAPABILITY(x) FURROW_ANNOTATE(lock_returned(x))
#define ASSERT_CAPABILITY(x) FURROW_ANNOTATE(assert_capability(x))
#define NO_THREAD_SAFETY_ANALYSIS FURROW_ANNOTATE(no_thread_safety_analysis)

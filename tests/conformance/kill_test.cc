// SPDX-License-Identifier: Apache-2.0
//
// The program of the kill test (kill.sh drives it; it is killed while it writes):
//   kill_test write FS DB ACKS SEED THREADS [--no-sync] [--for=MS [--exit|--die]] [--unsynced]
//     writes for ever, each batch synced, then acknowledged in ACKS.<thread>
//   kill_test check FS DB ACKS SEED THREADS [--abandon]
//     opens the database and compares all of it with what was acknowledged
// FS: "posix" or a furrow:// URI. --no-sync: batches go to the WAL, but are not synced. --for: ends after so many
// milliseconds and closes the database, or, with --exit, calls exit() with the database open, or, with --die, kills
// itself as soon as the next batch is acknowledged, so that the newest bytes have had no time to be drained. --unsynced
// plants a bug on purpose: batches wait in RocksDB's own buffer and are acknowledged although nothing has been handed
// to the file system; check must then fail. --abandon: ends as a kill would, without closing. Exit codes: 0 ok, 1 the
// database is not what was acknowledged, 2 usage, 3 it could not be opened or written.
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "furrow/furrow.h"
#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/file_system.h"
#include "rocksdb/options.h"
#include "tests/conformance/kill_plan.h"

namespace furrow {
namespace {

namespace rdb = ROCKSDB_NAMESPACE;

constexpr uint32_t kKeysPerThread = 1500;
constexpr const char* kFamilies[] = {"default", "second"};

struct Arguments {
  std::string fs, db, acks;
  uint64_t seed = 0;
  uint32_t threads = 0;
  bool unsynced = false, no_sync = false, exit = false, die = false, abandon = false;
  uint64_t milliseconds = 0;  // 0: for ever

  // Something has to be lost: no flush of RocksDB's may save it.
  bool PlantsLoss() const { return unsynced || die; }
};

// A database with its Env; the Env dies last.
struct Database {
  std::unique_ptr<rdb::Env> env;
  std::unique_ptr<rdb::DB> db;
  std::vector<std::unique_ptr<rdb::ColumnFamilyHandle>> families;

  ~Database() { families.clear(); }  // before the database
  rdb::Status Close() {
    families.clear();
    const rdb::Status status = db->Close();
    db.reset();
    return status;
  }
};

// Small buffers and files: in a second there are flushes, compactions, WAL changes and MANIFEST writes.
rdb::Options MakeOptions(rdb::Env* env, const Arguments& args) {
  rdb::Options options;
  options.env = env;
  options.create_if_missing = true;
  options.create_missing_column_families = true;
  options.write_buffer_size = 256 << 10;
  options.target_file_size_base = 256 << 10;
  options.max_bytes_for_level_base = 1 << 20;
  options.level0_file_num_compaction_trigger = 2;
  options.max_background_jobs = 4;
  options.max_total_wal_size = 1 << 20;
  options.max_manifest_file_size = 16 << 10;  // rolls the MANIFEST, and with it replaces CURRENT
  options.keep_log_file_num = 3;
  options.wal_recovery_mode = rdb::WALRecoveryMode::kPointInTimeRecovery;
  options.manual_wal_flush = args.unsynced;
  if (args.PlantsLoss()) {
    options.write_buffer_size = 64 << 20;  // else the writers mostly wait for a flush, with nothing left to lose
    options.max_total_wal_size = 1 << 30;
  }
  return options;
}

bool Fail(const char* what, const rdb::Status& status) {
  std::fprintf(stderr, "kill_test: %s: %s\n", what, status.ToString().c_str());
  return false;
}

bool Open(const Arguments& args, Database* out) {
  if (args.fs == "posix") {
    out->env = rdb::NewCompositeEnv(rdb::FileSystem::Default());
  } else {
    rdb::Status status = Register();
    if (!status.ok()) return Fail("register", status);
    rdb::ConfigOptions config;
    config.ignore_unsupported_options = false;
    std::shared_ptr<rdb::FileSystem> fs;
    status = rdb::FileSystem::CreateFromString(config, args.fs, &fs);
    if (!status.ok()) return Fail(args.fs.c_str(), status);
    out->env = rdb::NewCompositeEnv(fs);
  }
  const rdb::Options options = MakeOptions(out->env.get(), args);
  std::vector<rdb::ColumnFamilyDescriptor> descriptors;
  for (const char* name : kFamilies) descriptors.emplace_back(name, options);
  std::vector<rdb::ColumnFamilyHandle*> handles;
  rdb::DB* db = nullptr;
  const rdb::Status status = rdb::DB::Open(options, args.db, descriptors, &handles, &db);
  if (!status.ok()) return Fail("open", status);
  out->db.reset(db);
  for (rdb::ColumnFamilyHandle* handle : handles) out->families.emplace_back(handle);
  return true;
}

std::string AckPath(const Arguments& args, uint32_t thread) { return args.acks + "." + std::to_string(thread); }

rdb::Status WriteBatchOf(const Arguments& args, Database* database, uint32_t thread,
                         const std::vector<KillChange>& changes) {
  rdb::WriteBatch batch;
  for (const KillChange& change : changes) {
    rdb::ColumnFamilyHandle* family = database->families[KillPlan::ColumnFamilyOf(change.key)].get();
    const std::string key = KillPlan::KeyName(thread, change.key);
    const rdb::Status status = change.deletion ? batch.Delete(family, key) : batch.Put(family, key, change.value);
    if (!status.ok()) return status;
  }
  rdb::WriteOptions options;
  options.sync = !args.unsynced && !args.no_sync;
  return database->db->Write(options, &batch);
}

// Writes from behind the last acknowledged operation on; that one may be in the database already, which does no harm.
bool WriteForEver(const Arguments& args, Database* database, uint32_t thread) {
  const KillPlan plan(args.seed, kKeysPerThread);
  const std::vector<AckLog::Entry> before = AckLog::Read(AckPath(args, thread));
  AckLog acks(AckPath(args, thread));
  if (!acks.ok()) return Fail("acknowledgement log", rdb::Status::IOError(AckPath(args, thread), std::strerror(errno)));
  const auto began = std::chrono::steady_clock::now();
  const auto over = [&] {
    return args.milliseconds > 0 &&
           std::chrono::steady_clock::now() - began >= std::chrono::milliseconds(args.milliseconds);
  };
  for (uint64_t number = before.empty() ? 1 : before.back().number + 1;; ++number) {
    if (!args.die && over()) return true;
    const std::vector<KillChange> changes = plan.Batch(thread, number);
    rdb::Status status = WriteBatchOf(args, database, thread, changes);
    if (!status.ok()) return Fail("write", status);
    if (!acks.Append(number, KillPlan::Hash(changes))) {
      return Fail("acknowledgement log", rdb::Status::IOError(AckPath(args, thread), std::strerror(errno)));
    }
    if (args.die && over()) ::kill(::getpid(), SIGKILL);
    if (thread == 0 && number % 200 == 0 && !args.PlantsLoss()) {
      status = database->db->Flush(rdb::FlushOptions(), database->families[number / 200 % 2].get());
      if (!status.ok()) return Fail("flush", status);
    }
    if (thread == 1 && number % 1000 == 0) {
      status = database->db->SetOptions({{"level0_slowdown_writes_trigger", number % 2000 ? "20" : "21"}});
      if (!status.ok()) return Fail("set options", status);  // writes and renames an OPTIONS file
    }
  }
}

int Write(const Arguments& args) {
  // Whoever exits leaves it to the exit handlers.
  const auto owned = std::make_unique<Database>();
  Database& database = *owned;
  if (!Open(args, &database)) return 3;
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < args.threads; ++t) {
    threads.emplace_back([&, t] {
      if (!WriteForEver(args, &database, t)) ::_exit(3);  // the others would go on for ever
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (args.exit) std::exit(0);
  const rdb::Status closed = database.Close();
  if (!closed.ok()) Fail("close", closed);
  return closed.ok() ? 0 : 3;
}

using State = std::map<std::string, std::string>;  // key -> value, of one thread

void Apply(uint32_t thread, const std::vector<KillChange>& changes, State* state) {
  for (const KillChange& change : changes) {
    const std::string key = KillPlan::KeyName(thread, change.key);
    if (change.deletion) {
      state->erase(key);
    } else {
      (*state)[key] = change.value;
    }
  }
}

// What thread `thread` may have left: its acknowledged operations, or these and the next one, which was under way.
bool ExpectedStates(const Arguments& args, uint32_t thread, std::array<State, 2>* states, uint64_t* acknowledged) {
  const KillPlan plan(args.seed, kKeysPerThread);
  uint64_t number = 0;
  for (const AckLog::Entry& entry : AckLog::Read(AckPath(args, thread))) {
    ++number;
    const std::vector<KillChange> changes = plan.Batch(thread, number);
    if (entry.number != number || entry.hash != KillPlan::Hash(changes)) {
      std::fprintf(stderr, "kill_test: thread %u: line %" PRIu64 " of its log is not of this seed\n", thread, number);
      return false;
    }
    Apply(thread, changes, &(*states)[0]);
  }
  (*states)[1] = (*states)[0];
  Apply(thread, plan.Batch(thread, number + 1), &(*states)[1]);
  *acknowledged += number;
  return true;
}

bool Scan(Database* database, std::vector<State>* found) {
  for (const auto& family : database->families) {
    std::unique_ptr<rdb::Iterator> it(database->db->NewIterator(rdb::ReadOptions(), family.get()));
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
      uint32_t thread = 0;
      const std::string key = it->key().ToString();
      if (std::sscanf(key.c_str(), "t%u-", &thread) != 1 || thread >= found->size()) {
        std::fprintf(stderr, "kill_test: key %s was never written\n", it->key().ToString(true).c_str());
        return false;
      }
      (*found)[thread][key] = it->value().ToString();
    }
    if (!it->status().ok()) return Fail("scan", it->status());
  }
  return true;
}

// Prints the first differences.
void Explain(uint32_t thread, const State& expected, const State& found) {
  int shown = 0;
  for (const auto& [key, value] : expected) {
    const auto it = found.find(key);
    if (it != found.end() && it->second == value) continue;
    if (++shown > 5) break;
    std::fprintf(stderr, "kill_test: thread %u: acknowledged key %s is %s (expected %.24s...)\n", thread, key.c_str(),
                 it == found.end() ? "missing" : ("wrong: " + it->second.substr(0, 12)).c_str(), value.c_str());
  }
  for (const auto& [key, value] : found) {
    if (expected.contains(key)) continue;
    if (++shown > 8) break;
    std::fprintf(stderr, "kill_test: thread %u: key %s was deleted, and is back\n", thread, key.c_str());
  }
}

int Check(const Arguments& args) {
  Database database;
  if (!Open(args, &database)) return 3;
  std::vector<State> found(args.threads);
  if (!Scan(&database, &found)) return 1;
  uint64_t acknowledged = 0, keys = 0;
  int result = 0;
  for (uint32_t t = 0; t < args.threads; ++t) {
    std::array<State, 2> expected;
    if (!ExpectedStates(args, t, &expected, &acknowledged)) return 1;
    keys += found[t].size();
    if (found[t] == expected[0] || found[t] == expected[1]) continue;
    Explain(t, expected[0], found[t]);
    result = 1;
  }
  std::printf("%" PRIu64 " acknowledged, %" PRIu64 " keys\n", acknowledged, keys);
  std::fflush(stdout);
  if (args.abandon) ::_exit(result);
  const rdb::Status closed = database.Close();
  if (!closed.ok()) return Fail("close", closed) ? 0 : 3;
  return result;
}

bool Parse(int argc, char** argv, Arguments* args) {
  if (argc < 7) return false;
  args->fs = argv[2];
  args->db = argv[3];
  args->acks = argv[4];
  args->seed = std::strtoull(argv[5], nullptr, 10);
  args->threads = static_cast<uint32_t>(std::strtoul(argv[6], nullptr, 10));
  for (int i = 7; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--unsynced") {
      args->unsynced = true;
    } else if (word == "--no-sync") {
      args->no_sync = true;
    } else if (word == "--exit") {
      args->exit = true;
    } else if (word == "--die") {
      args->die = true;
    } else if (word.rfind("--for=", 0) == 0) {
      args->milliseconds = std::strtoull(word.c_str() + 6, nullptr, 10);
    } else if (word == "--abandon") {
      args->abandon = true;
    } else {
      return false;
    }
  }
  return args->threads > 0 && args->threads < 100;
}

int Main(int argc, char** argv) {
  Arguments args;
  const std::string verb = argc > 1 ? argv[1] : "";
  if ((verb != "write" && verb != "check") || !Parse(argc, argv, &args)) {
    std::fprintf(stderr,
                 "usage: kill_test write|check FS DB ACKS SEED THREADS [--no-sync] [--for=MS [--exit|--die]] "
                 "[--unsynced] [--abandon]\n");
    return 2;
  }
  return verb == "write" ? Write(args) : Check(args);
}

}  // namespace
}  // namespace furrow

int main(int argc, char** argv) { return furrow::Main(argc, argv); }

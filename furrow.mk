# SPDX-License-Identifier: Apache-2.0
#
# Furrow inside RocksDB's tree: link this directory to plugin/furrow there, then
#   make ROCKSDB_PLUGINS=furrow static_lib db_bench        or        cmake -DROCKSDB_PLUGINS=furrow ...
# RocksDB's make reads all of this file. RocksDB's CMake reads the line of furrow_FUNC alone, as it looks for
# " = "; the assignments with := are for make, and cmake/InTree.cmake takes the sources from here.
furrow_FUNC = furrow_register

# Kept equal to the CMake lists by tests/scripts/check-intree.sh [--fix].
furrow_SOURCES := \
  plugin/device/block_queue.cc \
  plugin/device/device_factory.cc \
  plugin/device/device_uri.cc \
  plugin/device/fault_device.cc \
  plugin/device/geometry.cc \
  plugin/device/host_io.cc \
  plugin/device/host_lock.cc \
  plugin/device/last_data.cc \
  plugin/device/latency_device.cc \
  plugin/device/mem_device.cc \
  plugin/device/sequential_zones.cc \
  plugin/device/zbd_device.cc \
  plugin/device/zero_ahead.cc \
  plugin/device/zone_file_device.cc \
  plugin/device/zone_file_layout.cc \
  plugin/device/zone_file_set.cc \
  plugin/device/zone_state_machine.cc \
  plugin/device/zoned_device.cc \
  plugin/device/zonefs_device.cc \
  plugin/file/bulk_commit.cc \
  plugin/file/bulk_piece.cc \
  plugin/file/bulk_stage.cc \
  plugin/file/bulk_writer.cc \
  plugin/file/checked_read.cc \
  plugin/file/drainer.cc \
  plugin/file/extent_check.cc \
  plugin/file/extent_copy.cc \
  plugin/file/extent_map.cc \
  plugin/file/file_kind.cc \
  plugin/file/file_node.cc \
  plugin/file/file_reader.cc \
  plugin/file/file_store.cc \
  plugin/file/file_table.cc \
  plugin/file/file_verify.cc \
  plugin/file/found_files.cc \
  plugin/file/frame.cc \
  plugin/file/held_tail.cc \
  plugin/file/name_space.cc \
  plugin/file/pending_bytes.cc \
  plugin/file/random_writer.cc \
  plugin/file/read_plan.cc \
  plugin/file/record_stager.cc \
  plugin/file/small_writer.cc \
  plugin/file/stage.cc \
  plugin/file/stage_directory.cc \
  plugin/file/stage_file.cc \
  plugin/file/stage_format.cc \
  plugin/file/stage_replay.cc \
  plugin/file/stage_segments.cc \
  plugin/file/stage_view.cc \
  plugin/file/staged_tail.cc \
  plugin/file/state_replay.cc \
  plugin/file/stream_progress.cc \
  plugin/file/stream_recovery.cc \
  plugin/file/stream_state.cc \
  plugin/file/stream_writer.cc \
  plugin/file/summary.cc \
  plugin/file/summary_cache.cc \
  plugin/file/zone_bytes.cc \
  plugin/file/zone_check.cc \
  plugin/file/zone_scan.cc \
  plugin/fs/call_count.cc \
  plugin/fs/check_files.cc \
  plugin/fs/check_metadata.cc \
  plugin/fs/check_report.cc \
  plugin/fs/check_zones.cc \
  plugin/fs/control_client.cc \
  plugin/fs/control_message.cc \
  plugin/fs/control_server.cc \
  plugin/fs/control_session.cc \
  plugin/fs/control_socket.cc \
  plugin/fs/device_fate.cc \
  plugin/fs/device_survey.cc \
  plugin/fs/durability.cc \
  plugin/fs/former_state.cc \
  plugin/fs/lost_and_found.cc \
  plugin/fs/mapped_copy.cc \
  plugin/fs/mount_options.cc \
  plugin/fs/mount_point.cc \
  plugin/fs/mount_registry.cc \
  plugin/fs/mount_stage.cc \
  plugin/fs/opened_file.cc \
  plugin/fs/overlay.cc \
  plugin/fs/repair.cc \
  plugin/fs/rocksdb_api.cc \
  plugin/fs/rocksdb_autoload.cc \
  plugin/fs/rocksdb_directory.cc \
  plugin/fs/rocksdb_file_lock.cc \
  plugin/fs/rocksdb_file_system.cc \
  plugin/fs/rocksdb_overlay_file.cc \
  plugin/fs/rocksdb_random_access_file.cc \
  plugin/fs/rocksdb_random_rw_file.cc \
  plugin/fs/rocksdb_sequential_file.cc \
  plugin/fs/rocksdb_status.cc \
  plugin/fs/rocksdb_unique_id.cc \
  plugin/fs/rocksdb_writable_file.cc \
  plugin/fs/scrub.cc \
  plugin/fs/volume.cc \
  plugin/fs/volume_check.cc \
  plugin/fs/volume_control.cc \
  plugin/fs/volume_open.cc \
  plugin/fs/volume_view.cc \
  plugin/fs/volume_watch.cc \
  plugin/meta/checkpoint_coding.cc \
  plugin/meta/checkpoint_writer.cc \
  plugin/meta/extent_coding.cc \
  plugin/meta/format.cc \
  plugin/meta/fresh_journal.cc \
  plugin/meta/group_commit.cc \
  plugin/meta/journal_appender.cc \
  plugin/meta/journal_chain.cc \
  plugin/meta/journal_dump.cc \
  plugin/meta/journal_group.cc \
  plugin/meta/journal_keeper.cc \
  plugin/meta/journal_reader.cc \
  plugin/meta/journal_salvage.cc \
  plugin/meta/metadata_log.cc \
  plugin/meta/record_queue.cc \
  plugin/meta/record_walk.cc \
  plugin/meta/records.cc \
  plugin/meta/replay.cc \
  plugin/meta/stray_groups.cc \
  plugin/meta/superblock.cc \
  plugin/meta/superblock_scan.cc \
  plugin/meta/superblock_store.cc \
  plugin/zone/budget.cc \
  plugin/zone/fifo_mutex.cc \
  plugin/zone/open_zone.cc \
  plugin/zone/placement.cc \
  plugin/zone/reserve.cc \
  plugin/zone/reset_holds.cc \
  plugin/zone/zone_core.cc \
  plugin/zone/zone_header.cc \
  plugin/zone/zone_loader.cc \
  plugin/zone/zone_manager.cc \
  plugin/zone/zone_reclaimer.cc \
  plugin/zone/zone_selector.cc \
  plugin/zone/zone_table.cc \
  plugin/zone/zone_types.cc \
  util/background.cc \
  util/boot_id.cc \
  util/checksum.cc \
  util/clock.cc \
  util/coding.cc \
  util/crc32c.cc \
  util/logger.cc \
  util/rng.cc \
  util/status.cc \
  util/thread_ordinal.cc

furrow_HEADERS := include/furrow/furrow.h include/furrow/options.h include/furrow/snapshot.h include/furrow/version.h
furrow_LDFLAGS := -lzbd -lxxhash -lzstd -luring -lurcu-bp -lurcu-common -luuid

# For our objects only: RocksDB has a util/coding.h of its own and may be built as C++17. -iquote precedes every -I.
furrow_FLAGS := -std=c++20 -iquote plugin/furrow -iquote plugin/furrow/include
plugin/furrow/%.o ./plugin/furrow/%.o shared-objects/plugin/furrow/%.o jl/plugin/furrow/%.o jls/plugin/furrow/%.o: \
  CXXFLAGS += $(furrow_FLAGS)
plugin/furrow/%.cc.d ./plugin/furrow/%.cc.d: CXXFLAGS += $(furrow_FLAGS)

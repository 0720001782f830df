// SPDX-License-Identifier: Apache-2.0
//
// Nothing of RocksDB but the name of its library.
int FutureRocksDb() { return 99; }

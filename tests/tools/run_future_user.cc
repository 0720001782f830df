// SPDX-License-Identifier: Apache-2.0
int FutureRocksDb();
int main() { return FutureRocksDb(); }

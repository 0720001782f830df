// SPDX-License-Identifier: Apache-2.0
//
// Copying bytes that a file has in one zone to another, so that the file can let go of the first: for a mount that
// finds bytes in a sealed zone, where a flush may have failed. Stateless functions; any thread. Blocks for the device.
#pragma once

#include <vector>

#include "plugin/file/file_engine.h"
#include "plugin/file/file_node.h"

namespace furrow {

// Writes the bytes of `extent` of `file` again, durably: a frame as one frame, others in pieces with a checksum each.
// Returns where they are now; the caller puts that in place of `extent`. The live bytes of the new place are counted.
// Corruption: the bytes that were read do not fit their checksum; none of them count anywhere. IoError, NoSpace and
// what SelectZone says.
Result<std::vector<Extent>> CopyExtent(const FileEngine& engine, const FileRef& file, const Extent& extent);

// Copies `extent` and has the file use the copy. Unless the file has changed there, the old place is garbage
// afterwards. Precondition: nobody else changes the file meanwhile. As CopyExtent; on an error the file is as before.
Result<std::vector<Extent>> MoveExtent(const FileEngine& engine, const FileRef& file, const Extent& extent);

// A flush of this zone may have failed. Linux then takes the bytes that were to be flushed for clean: they can be read
// until they leave its cache, and a later flush succeeds without them. So what is found in such a zone, and is not
// known durable from the journal, has to be written again.
bool MayHaveFailedToFlush(const FileEngine& engine, ZoneId zone);

}  // namespace furrow

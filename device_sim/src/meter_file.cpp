// spyre/device_sim/meter_file.cpp — a folder and a file of this user's, mapped once.
#include "spyre/device_sim/meter_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <new>
#include <nlohmann/json.hpp>
#include <sstream>

#include "spyre/base/error.h"
#include "spyre/base/text.h"

namespace spyre::device_sim {
namespace {

constexpr std::size_t kHeader = 4096, kStride = 256;
static_assert(sizeof(Meters) <= kStride);

/// When this process started, in the system's ticks: tells it from a later one with its number.
std::uint64_t start_of_this_process() {
  std::ifstream file("/proc/self/stat");
  const std::string line{std::istreambuf_iterator<char>(file), {}};
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(line.substr(name_end + 1));
  constexpr int kFieldsBefore = 19;  // the state is the third field, the start the 22nd
  std::string field;
  for (int i = 0; i < kFieldsBefore; ++i) fields >> field;
  std::uint64_t ticks = 0;
  fields >> ticks;
  return ticks;
}

std::string header(std::span<const DeviceSpec> cards) {
  using Json = nlohmann::ordered_json;
  Json meters = Json::array(), specs = Json::array();
  for (std::size_t i = 0; i < kMeterCount; ++i) meters.push_back(name_of(static_cast<Meter>(i)));
  for (const DeviceSpec& card : cards)
    specs.push_back({{"profile", card.profile},
                     {"cores", card.cores},
                     {"idle_watts", card.idle_watts},
                     {"cap_watts", card.cap_watts},
                     {"mac_pj", card.mac_pj},
                     {"memory_pj_per_byte", card.memory_pj_per_byte}});
  return Json{{"version", 1},
              {"pid", getpid()},
              {"started", start_of_this_process()},
              {"first", kHeader},
              {"stride", kStride},
              {"meters", std::move(meters)},
              {"cards", std::move(specs)}}
             .dump() +
         '\n';
}

/// A folder that belongs to this user and lets nobody else in.
bool is_private_folder(const std::string& path) {
  struct stat found{};
  return lstat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode) && found.st_uid == geteuid() &&
         (found.st_mode & (S_IRWXG | S_IRWXO)) == 0;
}

}  // namespace

int MeterFile::open_file(const std::string& folder) {
  if (folder.empty()) return -1;
  const std::string own = str(folder, "/torch_spyre-", geteuid());
  if (mkdir(own.c_str(), S_IRWXU) != 0 && errno != EEXIST) return -1;
  if (!is_private_folder(own)) return -1;
  path_ = str(own, '/', owner_);
  unlink(path_.c_str());  // of an earlier process with this number
  const int file =
      open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (file >= 0 && ftruncate(file, static_cast<off_t>(length_)) == 0) return file;
  if (file >= 0) close(file);
  remove();
  return -1;
}

MeterFile::MeterFile(const std::string& folder, std::span<const DeviceSpec> cards)
    : length_(kHeader + kStride * cards.size()), owner_(getpid()) {
  const int file = open_file(folder);
  const int flags = file >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
  void* pages = mmap(nullptr, length_, PROT_READ | PROT_WRITE, flags, file, 0);
  if (file >= 0) close(file);
  if (pages == MAP_FAILED) {
    remove();
    throw Error("meters: the system gave no memory");
  }
  pages_ = static_cast<std::byte*>(pages);
  for (std::size_t i = 0; i < cards.size(); ++i) new (pages_ + kHeader + kStride * i) Meters;
  const std::string text = header(cards);
  ensure(text.size() < kHeader, "the header of the meters fits its page");
  std::memcpy(pages_, text.data(), text.size());
}

MeterFile::~MeterFile() {
  remove();
  munmap(pages_, length_);
}

Meters& MeterFile::meters(std::size_t card) {
  return *std::launder(reinterpret_cast<Meters*>(pages_ + kHeader + kStride * card));
}

void MeterFile::remove() noexcept {
  if (!path_.empty() && getpid() == owner_) unlink(path_.c_str());
}

}  // namespace spyre::device_sim

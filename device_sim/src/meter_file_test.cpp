// spyre/device_sim/meter_file_test.cpp — the file says what is in it, is private, and goes; cards count in it.
#include "spyre/device_sim/meter_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "test_programs.h"

namespace spyre::device_sim {
namespace {

namespace fs = std::filesystem;

/// A folder of its own for each test, gone at the end.
class MeterFileTest : public testing::Test {
 protected:
  MeterFileTest() {
    std::string name = fs::temp_directory_path() / "metersXXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~MeterFileTest() override { fs::remove_all(folder_); }
  std::string folder_;
};

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_F(MeterFileTest, SaysWhatIsInIt) {
  const std::vector specs{small_spec(), small_spec(8)};
  MeterFile file(folder_, specs);
  file.meters(1).set(Meter::Kernels, 7);
  const std::string bytes = bytes_of(file.path());
  const auto header = nlohmann::json::parse(bytes.substr(0, bytes.find('\n')));
  EXPECT_EQ(header["pid"], getpid());
  EXPECT_GT(header["started"], 0);
  EXPECT_EQ(header["cards"][1]["cores"], 8);
  const auto place = std::ranges::find(header["meters"], "kernels") - header["meters"].begin();
  const std::size_t at = header["first"].get<std::size_t>() + header["stride"].get<std::size_t>() +
                         static_cast<std::size_t>(place) * sizeof(std::uint64_t);
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  EXPECT_EQ(value, 7U);
}

TEST_F(MeterFileTest, IsForThisUserAloneAndGoesWithItsOwner) {
  std::string path;
  {
    MeterFile file(folder_, std::vector{small_spec()});
    path = file.path();
    struct stat found{};
    ASSERT_EQ(stat(path.c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777U, 0600U);
    const pid_t child = fork();
    if (child == 0) {
      file.remove();
      _exit(0);
    }
    waitpid(child, nullptr, 0);
    EXPECT_TRUE(fs::exists(path)) << "a forked child removes nothing";
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(MeterFileTest, WithoutAFolderMetersStayPrivate) {
  for (const std::string& folder : {std::string(), folder_ + "/missing"}) {
    MeterFile file(folder, std::vector{small_spec()});
    EXPECT_EQ(file.path(), "");
    file.meters(0).add(Meter::Macs, 3);
    EXPECT_EQ(file.meters(0)[Meter::Macs], 3U);
  }
}

TEST_F(MeterFileTest, AFolderThatOthersMayEnterIsNotUsed) {
  const std::string own = folder_ + "/torch_spyre-" + std::to_string(geteuid());
  fs::create_directory(own);
  fs::permissions(own, fs::perms::all);
  EXPECT_EQ(MeterFile(folder_, std::vector{small_spec()}).path(), "");
}

TEST_F(MeterFileTest, CardsCountInIt) {
  MeterFile file("", std::vector{small_spec()});
  Meters& meters = file.meters(0);
  Card card(small_spec());
  card.publish(meters);
  const Allocation memory = card.allocate(1_MiB);
  std::vector<int> numbers(1000);
  card.enqueue({}, upload(numbers, memory.place), Urgency::Waited);
  const Work work{.bytes_read = 100, .bytes_written = 50, .macs = 1 << 20};
  const TimelinePoint last = card.enqueue({}, compute(1, [](auto...) {}, work), Urgency::Waited);
  card.synchronize_all();
  EXPECT_EQ(meters[Meter::BytesToCard], 4000U);
  EXPECT_EQ(meters[Meter::BytesRead], 100U);
  EXPECT_EQ(meters[Meter::BytesWritten], 50U);
  EXPECT_EQ(meters[Meter::Macs], 1U << 20);
  EXPECT_EQ(meters[Meter::Kernels], 1U);
  EXPECT_EQ(meters[Meter::Transfers], 1U);
  EXPECT_EQ(meters[Meter::ModelledPs], card.modelled_time(last));
  EXPECT_GT(meters[Meter::MatrixPs], 0U);
  EXPECT_LE(meters[Meter::MatrixPs], meters[Meter::ComputePs]);
  EXPECT_EQ(meters[Meter::Allocated], card.memory_stats().allocated.count);
  EXPECT_EQ(meters[Meter::Capacity], card.memory_stats().capacity.count);
  card.free(memory);
  EXPECT_EQ(meters[Meter::Allocated], 0U);
  EXPECT_EQ(meters[Meter::Peak], (1_MiB).count);
}

}  // namespace
}  // namespace spyre::device_sim

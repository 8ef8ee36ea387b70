// spyre/kernels/vector_isa.h — the lanes of one value in registers, and what an instruction set must know about them.
#pragma once
#include <asmjit/x86.h>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "spyre/base/dtype.h"
#include "spyre/kernels/kernel.h"
#include "spyre/kernels/micro_op.h"

namespace spyre::kernels {

namespace x86 = asmjit::x86;
namespace Inst = asmjit::x86::Inst;
using asmjit::InstId;
using asmjit::Operand_;

constexpr std::uint8_t width_of(Lane lane) {
  return lane == Lane::F64 || lane == Lane::I64 ? 8 : 4;
}

/// One value on every lane: one register of 4-byte lanes, or two registers of 8-byte lanes. A mask has the
/// width of the comparison that made it. Constants and parked values are not in a register until an instruction
/// needs them there: most take them as a memory operand.
struct Lanes {
  enum class Home : std::uint8_t { Registers, Constant, Memory };

  Lane lane{};
  std::uint8_t width = 4;
  Home home = Home::Registers;
  std::uint64_t bits = 0;  // Constant
  x86::Mem memory{};       // Memory: an operand that gives the value to all lanes
  std::array<x86::Reg, 2> part{};

  std::size_t parts() const { return width / 4U; }
  bool in_registers() const { return home == Home::Registers; }
  bool constant() const { return home == Home::Constant; }
};

/// What NaN may look like: anything, or with a lower half of zeros.
enum class NanBits : std::uint8_t { Any, Short };

/// Which lanes take part: all, or the first `count` at the end of a row.
struct Active {
  bool all = true;
  x86::Gp count{};  // 0 … lanes
  Lanes mask{};     // width 4
  Lanes wide{};     // the same, width 8
};

/// One instruction set: register width, and every operation whose instructions differ between the two.
/// Emits into the compiler it was made with. Confined to one compilation.
class VectorIsa {
 public:
  explicit VectorIsa(x86::Compiler& compiler) : cc(compiler) {}
  virtual ~VectorIsa() = default;
  VectorIsa(const VectorIsa&) = delete;
  VectorIsa& operator=(const VectorIsa&) = delete;

  virtual int lanes() const = 0;
  int register_bytes() const { return lanes() * 4; }

  // Registers and constants.
  x86::Vec fresh();
  x86::KReg fresh_mask();
  virtual x86::Vec half(const x86::Reg& r) const = 0;  // the lower half, as an operand
  virtual x86::Mem constant_operand(std::uint8_t width, std::uint64_t bits) = 0;
  x86::Vec materialise(std::uint8_t width, std::uint64_t bits);
  /// Keeps a value that is equal on all lanes in the stack frame, so that it takes no register.
  virtual Lanes parked(const Lanes& value) = 0;
  x86::Vec reg(const Lanes& value, std::size_t part);
  Operand_ rhs(const Lanes& value, std::size_t part);
  Lanes in_registers(const Lanes& value);
  static Lanes constant(Lane lane, std::uint64_t bits);

  /// The instruction that does `op` on `lane` in one step, or kIdNone.
  virtual InstId direct(Micro op, Lane lane) const = 0;
  virtual InstId round_instruction(Lane lane) const = 0;

  // Masks.
  virtual Lanes mask_constant(bool value) = 0;
  virtual Lanes compare(Micro op, const Lanes& a, const Lanes& b) = 0;
  /// MinNan or MaxNan of floats, neither of them a constant number.
  virtual Lanes min_max(Micro op, const Lanes& a, const Lanes& b) = 0;
  /// a * 2^b; see Micro::Scale.
  virtual Lanes scale(const Lanes& a, const Lanes& b) = 0;
  /// See Micro::RoundBF16; Short: Micro::RoundBF16ShortNan.
  virtual Lanes round_bf16(const Lanes& a, NanBits nan) = 0;
  virtual Lanes unordered(const Lanes& a, const Lanes& b) = 0;
  virtual Lanes select(const Lanes& mask, const Lanes& if_true, const Lanes& if_false) = 0;
  virtual Lanes mask_logic(Micro op, const Lanes& a, const Lanes& b) = 0;
  virtual Lanes mask_not(const Lanes& a) = 0;
  virtual Lanes mask_to_int(const Lanes& mask) = 0;
  virtual Lanes with_width(const Lanes& mask, std::uint8_t width) = 0;
  virtual Active first_lanes(const x86::Gp& count) = 0;
  /// Sets bits of `into` if the mask is set on an active lane.
  virtual void or_any(const x86::Mem& into, const Lanes& mask, const Active& active) = 0;

  // 64-bit integers and conversions.
  virtual Lanes multiply_i64(const Lanes& a, const Lanes& b) = 0;
  virtual Lanes shift_right_arith_i64(const Lanes& a, const Lanes& count) = 0;
  virtual Lanes convert_i64(const Lanes& a, Lane to) = 0;  // I64 -> F32, F64, I32
  virtual Lanes convert_to_i64(const Lanes& a) = 0;        // F32, F64 -> I64
  virtual x86::Vec upper_half(const x86::Vec& r) = 0;
  virtual x86::Vec join(const x86::Vec& low_half, const x86::Vec& high_half) = 0;
  Lanes widen(InstId id, const Lanes& a, Lane to);
  Lanes narrow(InstId id, const Lanes& a, Lane to);

  // Memory. `at` is the address of the first lane's element.
  virtual Lanes load(DType type, const x86::Mem& at, const Active& active) = 0;
  virtual void store(DType type, const x86::Mem& at, const Lanes& value, const Active& active) = 0;
  /// store() of all lanes past the caches. `at` is aligned to register_bytes(); see streams().
  void store_streaming(DType type, const x86::Mem& at, const Lanes& value);
  static bool streams(DType type) { return size_of(type) >= 4; }
  Lanes load_strided(DType type, const x86::Gp& at, const x86::Gp& stride, const Active& active);
  void store_strided(DType type, const x86::Gp& at, const x86::Gp& stride, const Lanes& value,
                     const Active& active);
  Lanes load_splat(DType type, const x86::Mem& at);
  void store_first(DType type, const x86::Mem& at, const Lanes& value);
  Lanes splat(const x86::Gp& value);  // I64
  Lanes lane_index();                 // I64: 0, 1, 2, …

  /// Lanes in lane form (8 or 4 bytes each), unmasked; for stack slots and the scratchpad.
  void store_raw(const x86::Mem& at, const Lanes& value);
  Lanes load_raw(Lane lane, const x86::Mem& at);

  /// The lane `distance` further on becomes each lane; lanes past the end are unspecified.
  Lanes shifted(const Lanes& value, int distance);
  /// Lane 0 on every lane.
  Lanes first_on_all(const Lanes& value);

  x86::Vec emit2(InstId id, const Operand_& a);
  x86::Vec emit3(InstId id, const Operand_& a, const Operand_& b);
  x86::Vec emit3(InstId id, const Operand_& a, int immediate);
  x86::Vec emit4(InstId id, const Operand_& a, const Operand_& b, int immediate);
  Lanes each_part(InstId id, Lane lane, const Lanes& a, const Lanes& b);

  // Virtual registers are used again once their value is dead: the register allocator's time grows with their number.
  /// Registers handed out from now on can be given back together.
  std::size_t mark() const { return handed_out_.size(); }
  template <class Keep> void release_since(std::size_t mark, Keep keep) {
    std::size_t kept = mark;
    for (std::size_t i = mark; i < handed_out_.size(); ++i) {
      if (keep(handed_out_[i])) {
        handed_out_[kept++] = handed_out_[i];
      } else {
        release(handed_out_[i]);
      }
    }
    handed_out_.resize(kept);
  }
  void release(const x86::Reg& r);

  /// A stack slot that holds any value; slots are shared by all uses.
  x86::Mem slot(int which);

  x86::Compiler& cc;

 protected:
  virtual x86::Vec new_vector() = 0;
  /// Loads what a parked value's operand names.
  virtual x86::Vec unparked(const x86::Mem& memory, std::uint8_t width) = 0;

  /// Copies `active` elements between two strided sequences.
  void copy_elements(int size, const x86::Mem& to, const x86::Gp& to_stride, const x86::Mem& from,
                     const x86::Gp& from_stride, const Active& active);

 private:
  x86::Reg hand_out(const x86::Reg& r);

  std::vector<x86::Reg> handed_out_;  // in order; may name a register twice
  std::vector<x86::Reg> free_vectors_, free_masks_;
  std::vector<bool> in_use_;  // by virtual register index
  std::array<x86::Mem, 2> slots_{};
  std::array<bool, 2> has_slot_{};
};

std::unique_ptr<VectorIsa> make_vector_isa(Isa isa, x86::Compiler& compiler);

}  // namespace spyre::kernels

/* cubin.c - registers, stack and shared memory of kernels, from the code that NVRTC made: an ELF
 * file whose section .nv.info has records of symbols, and one .nv.shared.NAME for each kernel with
 * shared memory. No offset or size in the file is trusted before it is checked. */
#include "engine/cuda/cubin.h"

#include <elf.h>
#include <stdio.h>

typedef struct cubin {
  const unsigned char *data;
  size_t size;
  Elf64_Ehdr head;
} cubin;

/* Copies `bytes` at an offset. Returns false if the file does not have them. */
static bool cubin_take(const cubin *c, uint64_t at, void *out, size_t bytes) {
  if (at > c->size || bytes > c->size - at)
    return false;
  memcpy(out, c->data + at, bytes);
  return true;
}

static bool section_at(const cubin *c, uint32_t i, Elf64_Shdr *out) {
  return i < c->head.e_shnum &&
         cubin_take(c, c->head.e_shoff + (uint64_t)i * sizeof *out, out, sizeof *out) &&
         (out->sh_type == SHT_NOBITS ||
          (out->sh_offset <= c->size && out->sh_size <= c->size - out->sh_offset));
}

/* The string at an offset of a section of strings is `text`. */
static bool is_text(const cubin *c, const Elf64_Shdr *strings, uint64_t at, const char *text) {
  size_t bytes = strlen(text) + 1;
  return at < strings->sh_size && bytes <= strings->sh_size - at &&
         memcmp(c->data + strings->sh_offset + at, text, bytes) == 0;
}

static bool find_section(const cubin *c, const char *name, Elf64_Shdr *out) {
  Elf64_Shdr names;
  if (!section_at(c, c->head.e_shstrndx, &names) || names.sh_type != SHT_STRTAB)
    return false;
  for (uint32_t i = 0; i < c->head.e_shnum; i++)
    if (section_at(c, i, out) && is_text(c, &names, out->sh_name, name))
      return true;
  return false;
}

/* The symbol of the kernel. */
static bool find_symbol(const cubin *c, const char *name, uint32_t *out) {
  Elf64_Shdr table, names;
  if (!find_section(c, ".symtab", &table) || table.sh_type != SHT_SYMTAB ||
      !section_at(c, table.sh_link, &names) || names.sh_type != SHT_STRTAB)
    return false;
  for (uint32_t i = 0; i < table.sh_size / sizeof(Elf64_Sym); i++) {
    Elf64_Sym symbol;
    if (cubin_take(c, table.sh_offset + (uint64_t)i * sizeof symbol, &symbol, sizeof symbol) &&
        is_text(c, &names, symbol.st_name, name)) {
      *out = i;
      return true;
    }
  }
  return false;
}

/* Records of a format and an attribute, a byte each, and two of a size; of format 4 so many bytes
 * follow: here a symbol and a number. */
static void read_records(const cubin *c, const Elf64_Shdr *info, uint32_t symbol,
                         fnzi_cuda_figures *out) {
  enum { SIZED = 4, REGISTERS = 0x2f, STACK = 0x12 };
  uint64_t at = 0;
  while (info->sh_size - at >= 4) {
    const unsigned char *record = c->data + info->sh_offset + at;
    uint32_t bytes = record[0] == SIZED ? record[2] + 256u * record[3] : 0, pair[2];
    at += 4;
    if (bytes > info->sh_size - at)
      return;
    at += bytes;
    if (bytes != sizeof pair)
      continue;
    memcpy(pair, record + 4, sizeof pair);
    if (pair[0] == symbol && record[1] == REGISTERS) {
      out->registers = pair[1];
      out->known = true;
    }
    if (pair[0] == symbol && record[1] == STACK)
      out->stack = pair[1];
  }
}

fnzi_cuda_figures fnzi_cuda_cubin_figures(const void *code, size_t size, const char *kernel) {
  cubin c = {code, size, {.e_shnum = 0}};
  fnzi_cuda_figures out = {.known = false};
  Elf64_Shdr section;
  uint32_t symbol;
  char shared[64];
  snprintf(shared, sizeof shared, ".nv.shared.%s", kernel);
  if (!cubin_take(&c, 0, &c.head, sizeof c.head) || memcmp(c.head.e_ident, ELFMAG, SELFMAG) != 0 ||
      c.head.e_ident[EI_CLASS] != ELFCLASS64 || c.head.e_machine != EM_CUDA ||
      c.head.e_shentsize != sizeof section || !find_symbol(&c, kernel, &symbol) ||
      !find_section(&c, ".nv.info", &section) || section.sh_type == SHT_NOBITS)
    return out;
  read_records(&c, &section, symbol, &out);
  if (find_section(&c, shared, &section))
    out.shared = section.sh_size;
  return out;
}

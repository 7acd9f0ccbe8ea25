/** A comment that was filled anew.
 * first  a parameter whose second line stands below the comment, and
 * not below it.
 * It has another one within a sentence. second  which may be NULL.
 * As far as far as that goes. */
